"""Commands on the programs that come with shadesmith."""
