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

/** Files that are started as their own process or thread. */
const ENTRIES = [
  'src/cli/main.ts',
  'src/base/process/forks-child.ts',
  'src/policy/classify/assess-worker.ts',
  'src/workspace/verify/diff/judge-worker.ts',
  'src/daemon/watchdog/watch.ts',
  'test/daemon/run-daemon.ts',
]
/** Packages with many files, which are bundled; the others are not. */
const INLINED = ['commander', 'croner', 'fastify', 'kysely', 'smol-toml', 'unbash', 'yaml', 'zod']
/** Defines `require`, which the CommonJS packages among them call for built-in modules. */
const REQUIRE = `import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);`
const BESIDE = ['bin/pcc.js', 'package.json', 'package-lock.json']
const KEPT_MS = 24 * 3_600_000

/**
 * Builds a copy of the checkout with bundled entry files: loading 700 modules one by one is most of the cost of starting
 * `pcc`, and the tests start it a thousand times. Everything else is as in the checkout, including the URL of each module and
 * the packages. The folder is named after a hash of its content, so that the same source is built once.
 */
export function builtProgram(root: string): string | undefined {
  const esbuild = join(root, 'node_modules/.bin/esbuild')
  if (!existsSync(esbuild) || ENTRIES.some(entry => !existsSync(join(root, entry)))) return undefined
  const sources = globSync('src/**/*', { cwd: root }).filter(path => statSync(join(root, path)).isFile())
  const files = [...sources, ...BESIDE, 'test/daemon/run-daemon.ts'].sort()
  const texts = new Map(files.map(path => [path, readFileSync(join(root, path))]))
  const target = join(tmpdir(), `pcc-program-${hashOf(root, texts)}`)
  if (existsSync(target)) return target
  removeOld()
  const building = mkdtempSync(join(tmpdir(), 'pcc-program-'))
  try {
    write(building, texts, target)
    symlinkSync(join(root, 'node_modules'), join(building, 'node_modules'))
    bundle(esbuild, building)
    renameSync(building, target)
  } catch (error) {
    rmSync(building, { recursive: true, force: true })
    if (!existsSync(target)) throw error // otherwise another run built it first
  }
  return target
}

function hashOf(root: string, texts: Map<string, Buffer>): string {
  const hash = createHash('sha256').update(`${root}\n${readFileSync(import.meta.filename, 'utf8')}`)
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

interface Package {
  dependencies: Record<string, string>
}

function bundle(esbuild: string, building: string): void {
  const flags = [
    '--bundle',
    '--splitting',
    '--platform=node',
    '--format=esm',
    '--target=node24',
    `--banner:js=${REQUIRE}`,
  ]
  const { dependencies } = JSON.parse(readFileSync(join(building, 'package.json'), 'utf8')) as Package
  const external = Object.keys(dependencies).flatMap(name => (INLINED.includes(name) ? [] : [`--external:${name}`]))
  const out = ['--outdir=bundled', '--outbase=.', '--sourcemap', '--sources-content=false', '--log-level=warning']
  execFileSync(esbuild, [...ENTRIES, ...flags, ...out, ...external], { cwd: building, stdio: 'pipe' })
  for (const entry of ENTRIES) {
    const built = join('bundled', entry.replace(/\.ts$/, '.js'))
    writeFileSync(join(building, entry), `import '${relative(dirname(entry), built)}'\n`)
  }
}

function removeOld(): void {
  for (const name of globSync('pcc-program-*', { cwd: tmpdir() })) {
    const path = join(tmpdir(), name)
    if (statSync(path).mtimeMs < Date.now() - KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
