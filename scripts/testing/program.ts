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
import { pathToFileURL } from 'node:url'

/** What is started as a process or a thread of its own. */
const ENTRIES = [
  'src/cli/main.ts',
  'src/base/process/forks-child.ts',
  'src/policy/classify/assess-worker.ts',
  'src/workspace/verify/diff/judge-worker.ts',
  'src/daemon/watchdog/watch.ts',
  'test/daemon/run-daemon.ts',
]
/** Packages of many files; the rest stays where it is. */
const INLINED = ['commander', 'croner', 'fastify', 'kysely', 'smol-toml', 'unbash', 'yaml', 'zod']
/** What the CommonJS packages among them call for a built-in module. */
const REQUIRE = `import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);`
const BESIDE = ['bin/pcc.js', 'package.json', 'package-lock.json']
const KEPT_MS = 24 * 3_600_000

/**
 * The checkout as it is now, with its entry files bundled: loading 700 modules one by one is most of what a start of `pcc`
 * costs, and the tests start it a thousand times. Everything else is as in the checkout, from the address that a module
 * knows of itself to the packages beside it. Named after what is in it, so that the same source is built once.
 */
export function builtProgram(root: string): string | undefined {
  const esbuild = join(root, 'node_modules/.bin/esbuild')
  if (!existsSync(esbuild) || ENTRIES.some(entry => !existsSync(join(root, entry)))) return undefined
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
    bundle(esbuild, making)
    renameSync(making, place)
  } catch (error) {
    rmSync(making, { recursive: true, force: true })
    if (!existsSync(place)) throw error // otherwise another run was quicker
  }
  return place
}

function hashOf(root: string, texts: Map<string, Buffer>): string {
  const hash = createHash('sha256').update(`${root}\n${readFileSync(import.meta.filename, 'utf8')}`)
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

interface Package {
  dependencies: Record<string, string>
}

function bundle(esbuild: string, making: string): void {
  const flags = [
    '--bundle',
    '--splitting',
    '--platform=node',
    '--format=esm',
    '--target=node24',
    `--banner:js=${REQUIRE}`,
  ]
  const { dependencies } = JSON.parse(readFileSync(join(making, 'package.json'), 'utf8')) as Package
  const external = Object.keys(dependencies).flatMap(name => (INLINED.includes(name) ? [] : [`--external:${name}`]))
  const out = ['--outdir=bundled', '--outbase=.', '--sourcemap', '--sources-content=false', '--log-level=warning']
  execFileSync(esbuild, [...ENTRIES, ...flags, ...out, ...external], { cwd: making, stdio: 'pipe' })
  for (const entry of ENTRIES) {
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
