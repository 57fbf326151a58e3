// Bundles the pages: `node build.mjs SOURCE_FOLDER OUTPUT_FOLDER` writes page.html and trace.html.
// Run it in the folder with node_modules, which is never the source tree.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const [source, output] = process.argv.slice(2).map((path) => resolve(path));

async function page(name, entry, notice) {
  const bundle = await build({
    entryPoints: [join(source, entry)],
    bundle: true,
    minify: true,
    write: false,
    outdir: 'bundle',
    format: 'esm',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    charset: 'utf8',
    legalComments: 'inline',
    nodePaths: [resolve('node_modules')],
  });
  const text = (suffix) => bundle.outputFiles.find((file) => file.path.endsWith(suffix)).text;
  // A function as the replacement, so that `$&` in the bundle is not interpreted.
  writeFileSync(join(output, name), readFileSync(join(source, name), 'utf8')
    .replace('/*style*/', () => text('.css'))
    .replace('/*script*/', () => (notice + text('.js')).replaceAll('</script', '<\\/script')));
}

const licence = readFileSync(resolve('node_modules/uplot/LICENSE'), 'utf8').trim();
await page('page.html', 'src/main.js', `/* uPlot: ${licence.replaceAll('*/', '')} */\n`);
await page('trace.html', 'src/trace/main.js', '');
