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
import { bundle, ENTRIES } from '../bundle.ts'

/** The program's own, and a daemon without the command line around it. */
const STARTED = [...ENTRIES, 'test/daemon/run-daemon.ts']
const BUNDLER = fileURLToPath(new URL('../bundle.ts', import.meta.url))
const BESIDE = ['bin/pcc.js', 'package.json', 'package-lock.json']
const KEPT_MS = 24 * 3_600_000

/**
 * The checkout as it is now, with its entry files bundled: loading 700 modules one by one is most of what a start of `pcc`
 * costs, and the tests start it a thousand times. Everything else is as in the checkout, from the address that a module
 * knows of itself to the packages beside it. Named after what is in it, so that the same source is built once.
 */
export function builtProgram(root: string): string | undefined {
  const esbuild = join(root, 'node_modules/.bin/esbuild')
  if (!existsSync(esbuild) || STARTED.some(entry => !existsSync(join(root, entry)))) return undefined
  const sources = globSync('src/**/*', { cwd: root }).filter(path => statSync(join(root, path)).isFile())
  const files = [...sources, ...BESIDE, 'test/daemon/run-daemon.ts'].sort()
  const texts = new Map(files.map(path => [path, readFileSync(join(root, path))]))
  const place = join(tmpdir(), `pcc-program-${hashOf(root, texts)}`)
  if (existsSync(place)) return place
  forgetOld()
  const making = mkdtempSync(join(tmpdir(), 'pcc-program-'))
  try {
    write(making, texts, place)
    symlinkSync(join(root, 'node_modules'), join(making, 'node_modules'))
    bundleStarted(esbuild, making)
    renameSync(making, place)
  } catch (error) {
    rmSync(making, { recursive: true, force: true })
    if (!existsSync(place)) throw error // otherwise another run was quicker
  }
  return place
}

function hashOf(root: string, texts: Map<string, Buffer>): string {
  const hash = createHash('sha256').update(
    `${root}\n${[import.meta.filename, BUNDLER].map(file => readFileSync(file, 'utf8')).join('')}`,
  )
  for (const [path, text] of texts) hash.update(`${path}\0${text.length}\0`).update(text)
  return hash.digest('hex').slice(0, 16)
}

/** A bundled module would take the bundle's address for its own: it is told the one that it has without. */
function write(making: string, texts: Map<string, Buffer>, place: string): void {
  for (const [path, text] of texts) {
    mkdirSync(dirname(join(making, path)), { recursive: true })
    const own = JSON.stringify(pathToFileURL(join(place, path)).href)
    const known = path.startsWith('src/') && text.includes('import.meta.url')
    writeFileSync(join(making, path), known ? text.toString().replaceAll('import.meta.url', own) : text)
  }
}

/** Bundles what is started; in the place of each entry stands a line that loads its bundle. */
function bundleStarted(esbuild: string, making: string): void {
  const flags = ['--sourcemap', '--sources-content=false']
  bundle(esbuild, { root: making, entries: STARTED, base: '.', outDir: 'bundled', flags })
  for (const entry of STARTED) {
    const built = join('bundled', entry.replace(/\.ts$/, '.js'))
    writeFileSync(join(making, entry), `import '${relative(dirname(entry), built)}'\n`)
  }
}

function forgetOld(): void {
  for (const name of globSync('pcc-program-*', { cwd: tmpdir() })) {
    const path = join(tmpdir(), name)
    if (statSync(path).mtimeMs < Date.now() - KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
