// Bundles pages: `node build.mjs SOURCE_FOLDER OUTPUT_FOLDER PAGE=SCRIPT...`, where PAGE.html and
// SCRIPT are in the source folder. Run it in the folder with node_modules, which is never the source
// tree.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const [source, output] = process.argv.slice(2, 4).map((path) => resolve(path));
const licence = readFileSync(resolve('node_modules/uplot/LICENSE'), 'utf8').trim();

const bundled = (script) => build({
  entryPoints: [join(source, script)],
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

for (const [page, script] of process.argv.slice(4).map((words) => words.split('='))) {
  const { outputFiles } = await bundled(script);
  const text = (suffix) => outputFiles.find((file) => file.path.endsWith(suffix)).text;
  const notice = text('.js').includes('uplot') ? `/* uPlot: ${licence.replaceAll('*/', '')} */\n` : '';
  // A function as the replacement, so that `$&` in the bundle is not interpreted.
  writeFileSync(join(output, `${page}.html`), readFileSync(join(source, `${page}.html`), 'utf8')
    .replace('/*style*/', () => text('.css'))
    .replace('/*script*/', () => (notice + text('.js')).replaceAll('</script', '<\\/script')));
}
