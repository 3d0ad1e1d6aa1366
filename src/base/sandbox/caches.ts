import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInside } from '../is-inside.ts'
import { findProgram } from '../process/find-program.ts'
import { runShortSync } from '../process/run-short.ts'
import { pathOutsideProjects } from '../search-path.ts'
import type { MovedFolder } from './bubblewrap.ts'
import type { SandboxSettings } from './settings.ts'

/** Where tools keep what they download or build, in the home directory. Each is replaced by a folder of the project's own. */
const CACHES = [
  ...['.cache', '.npm', '.pnpm-store', '.local/share/pnpm/store', '.yarn/berry', '.bun/install/cache'],
  ...['.cargo/registry', '.cargo/git', 'go/pkg', '.m2/repository', '.gradle/caches', '.gradle/wrapper'],
]

/** Those of the person's caches that are read below a layer. Browsers, logs and much else are beside them in `.cache` and `.npm`. */
const BELOW = [
  ...['.npm/_cacache', '.pnpm-store', '.local/share/pnpm/store', '.yarn/berry', '.bun/install/cache'],
  ...['.cargo/registry', '.cargo/git'],
  ...['.cache/pip', '.cache/uv', '.cache/yarn', '.cache/pypoetry', '.cache/node', '.cache/node-gyp'],
  ...['.cache/ms-playwright', '.cache/Cypress', '.cache/puppeteer'],
]

/** Variables that move these caches to a path that is read-only or invisible in the sandbox. */
export const CACHE_VARIABLES = [
  ...['XDG_CACHE_HOME', 'npm_config_cache', 'NPM_CONFIG_CACHE', 'npm_config_store_dir', 'YARN_CACHE_FOLDER'],
  ...['PIP_CACHE_DIR', 'UV_CACHE_DIR', 'POETRY_CACHE_DIR', 'CARGO_HOME', 'GOPATH', 'GOMODCACHE', 'GOCACHE'],
  ...['GRADLE_USER_HOME', 'BUN_INSTALL_CACHE_DIR'],
]

/** A cache with a layer for changes above folders that are only read. It is put together when the sandbox is started. */
export interface CacheLayer {
  /** Holds `changes`, `work`, `all` (the whole), and links to what is below: 0, 1. */
  folder: string
  /** The names of those links, the upper one first. */
  below: string[]
}

export interface Caches {
  folders: MovedFolder[]
  layers: CacheLayer[]
}

interface CacheOptions {
  scratch: string
  canMount?: boolean
  /** Further folders that are read below a layer. */
  more?: string[]
  /** What the sandbox shows read-only: nothing can be made in there. */
  shown?: string[]
}

/**
 * The package caches of a sandbox. Only set-up commands of fresh worktrees write the project's own. Whoever else runs code, an agent or
 * a gate, gets a layer above it: no diff shows what an agent puts into a cache, and no gate may run it.
 */
export function openCaches(
  home: string,
  caches: SandboxSettings['caches'],
  { scratch, canMount = canOverlay(scratch), more = [], shown = [] }: CacheOptions,
): Caches {
  const readBelow = [...BELOW, ...more]
  // Each is a mount of its own, also for set-up commands: a folder inside of what they write could be a link to anywhere.
  const names = caches && canMount ? [...new Set([...CACHES, ...readBelow])] : CACHES
  const own = (name: string) => join(caches?.folder ?? scratch, folderName(name))
  if (caches) for (const name of names) mkdirSync(own(name), { recursive: true, mode: 0o700 })
  if (caches?.isWritten) return { folders: names.map(name => ({ from: own(name), to: join(home, name) })), layers: [] }
  const planned = names.map(name => {
    const persons = caches && canMount && readBelow.includes(name) && existsSync(join(home, name))
    const below = [...(caches ? [own(name)].filter(hasFiles) : []), ...(persons ? [join(home, name)] : [])]
    return { name, below, to: join(home, name) }
  })
  // Bubblewrap needs longer for each mount the more there are. An empty cache is a folder of the one around it, or of the home, which goes too.
  const isPlain = ({ name, below, to }: (typeof planned)[number]) => {
    if (below.length > 0) return false
    if (names.some(outer => name.startsWith(`${outer}/`))) return true
    return caches?.changes === undefined && !shown.some(folder => isInside(to, folder))
  }
  const opened = planned
    .filter(each => !isPlain(each))
    .map(({ name, below, to }) => openLayer(join(caches?.changes ?? scratch, folderName(name)), below, to))
  return { folders: opened.map(({ moved }) => moved), layers: opened.flatMap(({ layer }) => layer) }
}

function folderName(name: string): string {
  return name.replaceAll('/', '-').replace(/^\./, '')
}

function hasFiles(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length > 0
}

function openLayer(folder: string, below: string[], to: string): { moved: MovedFolder; layer: CacheLayer[] } {
  const make = (name: string) => mkdirSync(join(folder, name), { recursive: true, mode: 0o700 })
  make('all')
  const moved = { from: join(folder, 'all'), to }
  if (below.length === 0) return { moved, layer: [] }
  for (const name of ['changes', 'work']) make(name)
  // The options of a mount are separated by commas and colons, which a path may contain: links have plain names.
  for (const [at, path] of below.entries()) {
    rmSync(join(folder, `${at}`), { force: true })
    symlinkSync(path, join(folder, `${at}`))
  }
  return { moved, layer: [{ folder, below: below.map((_, at) => `${at}`) }] }
}

/**
 * Puts each layer together for this process and its children alone, then becomes the command. Also without layers: bubblewrap by itself would show
 * a disk that is mounted on the machine later, writable.
 */
const MOUNTING = `while [ "$1" != -- ]; do
  cd "$1" && "$0" -t overlay overlay -o "lowerdir=$2,upperdir=changes,workdir=work,userxattr" all || exit 96
  shift 2
done; shift; cd /; exec "$@"`

/** For machines that cannot do that: a copy of what set-up commands have downloaded, once. */
const COPYING = `while [ "$1" != -- ]; do
  [ -e "$1/work/copied" ] || "$0" -a --reflink=auto "$1/0/." "$1/all/" || exit 96
  : > "$1/work/copied"; shift 2
done; shift; exec "$@"`

/** The command of a sandbox, after its caches are put together. */
export function withLayers(
  { command, args }: { command: string; args: string[] },
  layers: readonly CacheLayer[],
  { scratch, canMount = canOverlay(scratch) }: { scratch: string; canMount?: boolean },
): { command: string; args: string[] } {
  // A program that is not there any more is reported as missing.
  if ((layers.length === 0 && !canMount) || !existsSync(command)) return { command, args }
  const words = [...layers.flatMap(({ folder, below }) => [folder, below.join(':')]), '--', command, ...args]
  if (!canMount) return { command: '/bin/sh', args: ['-c', COPYING, ours('cp'), ...words] }
  const shell = ['/bin/sh', '-c', MOUNTING, ours('mount'), ...words]
  return { command: ours('unshare'), args: ['--map-root-user', '--mount', ...shell] }
}

/** What was found out, by folder: it depends on the machine and on the file system. */
const found = new Map<string, boolean>()

/** Whether layers can be mounted in a folder: found out by doing it, because kernels, containers and file systems forbid it. */
function canOverlay(scratch: string): boolean {
  const parent = dirname(dirname(scratch))
  const known = found.get(parent)
  if (known !== undefined) return known
  const folder = mkdtempSync(join(parent, 'pcc-layer-'))
  const { layer } = openLayer(folder, ['/usr'], '/')
  const looking = { command: '/bin/sh', args: ['-c', 'test -e "$0"', join(folder, 'all/bin')] }
  const trial = withLayers(looking, layer, { scratch, canMount: true })
  const { code } = runShortSync({ ...trial, cwd: '/', env: {}, timeoutMs: 10_000, maxBytes: 100_000 })
  // The kernel leaves a folder there that is closed to its owner.
  if (code === 0) chmodSync(join(folder, 'work/work'), 0o700)
  rmSync(folder, { recursive: true, force: true })
  found.set(parent, code === 0)
  return code === 0
}

function ours(program: string): string {
  const PATH = `/usr/bin:/bin:/usr/sbin:/sbin:${pathOutsideProjects(process.env['PATH'])}`
  return findProgram(program, { PATH }) ?? program
}

interface CacheBehind {
  folder: string
  variables(path: string, env: Record<string, string | undefined>): Record<string, string>
}

/** Caches of the person that a tool can read behind its own. The other tools download again, once for each project. */
const BEHIND: Record<string, CacheBehind> = {
  go: {
    folder: 'go/pkg/mod/cache/download',
    variables: (path, env) => ({
      GOPROXY: `file://${path},${env['GOPROXY'] ?? 'https://proxy.golang.org,direct'}`,
    }),
  },
  maven: {
    folder: '.m2/repository',
    variables: (path, env) => ({ MAVEN_ARGS: `${env['MAVEN_ARGS'] ?? ''} -Dmaven.repo.local.tail=${path}`.trim() }),
  },
  gradle: { folder: '.gradle/caches', variables: path => ({ GRADLE_RO_DEP_CACHE: path }) },
}

/** What the sandbox shows of the person's own caches, and the variables by which tools find it. */
export function cachesBehind(
  home: string,
  env: Record<string, string | undefined>,
): { folders: MovedFolder[]; env: Record<string, string> } {
  const there = Object.entries(BEHIND).filter(([, { folder }]) => existsSync(join(home, folder)))
  const at = (name: string) => `/run/pcc/caches/${name}`
  return {
    folders: there.map(([name, { folder }]) => ({ from: join(home, folder), to: at(name) })),
    env: Object.assign({}, ...there.map(([name, { variables }]) => variables(at(name), env))),
  }
}
