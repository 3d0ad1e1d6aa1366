import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, ENTRIES, keptOutside, takeBuiltinsIn } from '../bundle.ts'
import { loaderOf, scriptIn } from './daemon-script.ts'

/** The program's own, and a daemon without the command line around it. */
const STARTED = [...ENTRIES, 'test/daemon/run-daemon.ts']
const BUNDLER = ['../bundle.ts', 'daemon-script.ts'].map(file => fileURLToPath(new URL(file, import.meta.url)))
const DAEMON = 'src/daemon/main.ts'
const BESIDE = ['bin/pcc.js', 'package.json', 'package-lock.json']
const KEPT_MS = 24 * 3_600_000

/**
 * Builds a copy of the checkout with bundled entry files: loading 700 modules one by one is most of the cost of starting
 * `pcc`, and the tests start it a thousand times. Everything else is as in the checkout, including the URL of each module and
 * the packages. The folder is named after a hash of its content, so that the same source is built once.
 */
export function builtProgram(root: string): string | undefined {
  const esbuild = join(root, 'node_modules/.bin/esbuild')
  if (!existsSync(esbuild) || STARTED.some(entry => !existsSync(join(root, entry)))) return undefined
  const sources = globSync('src/**/*', { cwd: root }).filter(path => statSync(join(root, path)).isFile())
  const files = [...sources, ...BESIDE, 'test/daemon/run-daemon.ts'].sort()
  const texts = new Map(files.map(path => [path, readFileSync(join(root, path))]))
  const target = join(tmpdir(), `pcc-program-${hashOf(root, texts)}`)
  if (existsSync(target)) return target
  removeOld()
  const building = mkdtempSync(join(tmpdir(), 'pcc-program-'))
  try {
    write(building, texts, target)
    startBundles(building)
    for (const folder of ['node_modules', 'docs']) symlinkSync(join(root, folder), join(building, folder))
    if (texts.has(DAEMON)) writeDaemonScript(esbuild, building, target)
    bundleStarted(esbuild, building)
    renameSync(building, target)
  } catch (error) {
    rmSync(building, { recursive: true, force: true })
    if (!existsSync(target)) throw error // otherwise another run built it first
  }
  return target
}

function hashOf(root: string, texts: Map<string, Buffer>): string {
  const hash = createHash('sha256').update(
    `${root}\n${[import.meta.filename, ...BUNDLER].map(file => readFileSync(file, 'utf8')).join('')}`,
  )
  for (const [path, text] of texts) hash.update(`${path}\0${text.length}\0`).update(text)
  return hash.digest('hex').slice(0, 16)
}

/** A bundled module would see the bundle's URL as its own, so `import.meta.url` is replaced with its original URL. */
function write(building: string, texts: Map<string, Buffer>, target: string): void {
  for (const [path, text] of texts) {
    mkdirSync(dirname(join(building, path)), { recursive: true })
    const own = JSON.stringify(pathToFileURL(join(target, path)).href)
    const usesUrl = path.startsWith('src/') && text.includes('import.meta.url')
    writeFileSync(join(building, path), usesUrl ? text.toString().replaceAll('import.meta.url', own) : text)
  }
}

/** Processes and threads start from their bundles: one line of TypeScript would have each of them load what strips types, 40 ms. */
function startBundles(building: string): void {
  const file = join(building, 'src/base/program.ts')
  if (!existsSync(file)) return // a test of this builder has few files
  const text = readFileSync(file, 'utf8')
  const started = text.replace(/`src\/(\$\{path\})\.ts`/, '`bundled/src/$1.js`')
  if (started === text) throw new Error('src/base/program.ts names the file of a process in another way now')
  writeFileSync(file, started)
}

/** Bundles what is started; in the place of each entry stands a line that loads its bundle. */
function bundleStarted(esbuild: string, building: string): void {
  const flags = ['--sourcemap', '--sources-content=false']
  bundle(esbuild, { root: building, entries: STARTED, base: '.', outDir: 'bundled', flags })
  takeBuiltinsIn(join(building, 'bundled'))
  for (const entry of STARTED) {
    const built = join('bundled', entry.replace(/\.ts$/, '.js'))
    writeFileSync(join(building, entry), `import '${relative(dirname(entry), built)}'\n`)
  }
}

/** What `src/daemon/main.ts` does becomes one script; in its place stands what loads the script. */
function writeDaemonScript(esbuild: string, building: string, target: string): void {
  const shape = ['--bundle', '--platform=node', '--format=cjs', '--target=node24', '--log-level=warning']
  const wrapped = [
    '--banner:js=(function(exports,require,module){',
    '--footer:js=})',
    '--legal-comments=none',
    '--minify-whitespace',
  ]
  const out = `--outfile=${scriptIn(building)}`
  // Every daemon writes a log, and its 25 files would be compiled each time: 17 ms of processor time.
  const external = keptOutside(building).filter(flag => flag !== '--external:pino')
  execFileSync(esbuild, [DAEMON, ...shape, ...wrapped, out, ...external], { cwd: building, stdio: 'pipe' })
  // A script has none, and would fail only where it is used.
  const used = /\bimport_meta\.\w+/.exec(readFileSync(scriptIn(building), 'utf8'))?.[0]
  if (used !== undefined)
    throw new Error(`the daemon uses ${used.replace('_', '.')}: use createRequire(import.meta.url) instead`)
  writeFileSync(join(building, DAEMON), loaderOf(target))
}

function removeOld(): void {
  for (const name of globSync('pcc-program-*', { cwd: tmpdir() })) {
    const path = join(tmpdir(), name)
    if (statSync(path).mtimeMs < Date.now() - KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
