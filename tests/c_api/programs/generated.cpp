// Calls what `shadesmith cppgen` made of the archive of tests/c_api/test_cppgen.py: every kind of parameter and result.
#include <cstdio>

#include "sample.hpp"

int main(int argc, char **argv) {
    const TiArch arch = argc > 1 && argv[1][0] == 'c' ? TI_ARCH_CUDA : TI_ARCH_VULKAN;
    const TiRuntime runtime = ti_create_runtime(arch, 0);
    try {
        shadesmith::check();
        sample::Module module(runtime, argv[2]);

        shadesmith::Array<float, 2> pixels(runtime, {3, 4});
        module.paint(pixels, 10, 0.5f);
        for (float value : pixels.read()) {
            std::printf("%g ", double(value));
        }

        const std::vector<std::array<float, 3>> v = {{{1, 2, 3}}, {{4, 5, 6}}};
        shadesmith::Array<std::array<float, 3>, 1> points(runtime, {2}, v.data());
        const std::array<std::array<float, 2>, 2> m = {{{{1, 2}}, {{3, 4}}}};
        const sample::Body body = {{{7, 8, 9}}, 0.25, -3};
        std::printf("\n%.17g\n", module.dot(points, {{1, 0, 2}}, m, body, shadesmith::Half{0x3c00}, true, 1ull << 40));

        const sample::Item first = {2, 1.5f};
        shadesmith::Array<sample::Item, 1> items(runtime, {1}, &first);
        module.grow(items);
        const sample::Item grown = items.read()[0];
        std::printf("%d %g\n", int(grown.count), double(grown.weight));

        const std::array<float, 2> pair = module.pair(5);
        const std::tuple<std::int32_t, float> two = module.two(7);
        std::printf("%g %g %d %g\n", double(pair[0]), double(pair[1]), int(std::get<0>(two)), double(std::get<1>(two)));

        module.both(pixels, 100, 0.0f);
        std::printf("%g\n", double(pixels.read()[11]));
        module.class_(pixels);
        try {
            shadesmith::Array<float, 2> none(runtime, {0, 4});
            module.paint(none, 1, 0.0f);
            sample::Module absent(runtime, "no such file");
        } catch (const shadesmith::Error &error) {
            std::printf("error: %s\n", error.what());
        }
    } catch (const std::exception &error) {
        std::printf("failed: %s\n", error.what());
    }
    ti_destroy_runtime(runtime);
}
