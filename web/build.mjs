// Bundles the page: `node build.mjs SOURCE_FOLDER OUTPUT`. Run it in the folder with node_modules,
// which is never the source tree.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const [source, output] = process.argv.slice(2).map((path) => resolve(path));

const bundle = await build({
  entryPoints: [join(source, 'src/main.js')],
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
const licence = readFileSync(resolve('node_modules/uplot/LICENSE'), 'utf8').trim();
const script = `/* uPlot: ${licence.replaceAll('*/', '')} */\n${text('.js')}`;

// A function as the replacement, so that `$&` in the bundle is not interpreted.
writeFileSync(output, readFileSync(join(source, 'page.html'), 'utf8')
  .replace('/*style*/', () => text('.css'))
  .replace('/*script*/', () => script.replaceAll('</script', '<\\/script')));
