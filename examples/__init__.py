"""Small programs that show what shadesmith does; each runs without a display and is a test."""
