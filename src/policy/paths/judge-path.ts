import { dirname } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { Reason } from '../../domain/assessment.ts'
import { type Fence, findOwnHome, locatePath, type WorktreeFence } from './fence.ts'
import { isAbsent, isPlainOrAbsent } from './look.ts'
import { findSecretPart, isHistory } from './secret-files.ts'
import { findSteering } from './steering-files.ts'
import { foldName, matchesWildcard } from './wildcard.ts'

/** What a tool or program does to a path. */
export type Access = 'read' | 'write'

/** Judges one path. Reads are LOW except for secrets and the like; writes are LOW only in the safe folders of the project. */
export function judgePath(path: string, access: Access, { cwd, fence }: { cwd: string; fence: Fence }): Reason {
  const place = locatePath(path, cwd, fence)
  const real = place.where === 'strange' ? path.replace(/\\/g, '/') : place.path
  const shared = access === 'write' && fence.worktree ? explainSharedPath(real, fence.worktree) : undefined
  if (shared !== undefined) return { code: 'boundary.file', risk: 'HIGH', text: `${path} ${shared}` }
  const own = explainOwnHome(real, fence)
  if (own && (access === 'write' || own.risk === 'HIGH'))
    return {
      code: own.risk === 'HIGH' && access === 'read' ? 'path.secret' : 'path.guard',
      risk: 'HIGH',
      text: `${path} ${own.why}`,
    }
  const secret = findSecretPart(real) ?? findSecretPart(path.replace(/\\/g, '/'))
  if (secret !== undefined)
    return { code: 'path.secret', risk: 'HIGH', text: `${path} holds secrets${secret === path ? '' : ` (${secret})`}` }
  if (own) return { code: 'path.guard', risk: 'MEDIUM', text: `${path} ${own.why}` }
  if (access === 'read')
    return (
      (place.where !== 'inside' && explainPersonal(path, real, fence)) ||
      judgeRead(path, real, place.where === 'strange' ? place.why : undefined)
    )
  const steering = findSteering(stripWorktree(real, fence))
  if (steering && (steering.risk === 'HIGH' || place.where === 'inside'))
    return { code: steering.code, risk: steering.risk, text: `${path}: ${steering.why}` }
  if (place.where === 'strange')
    return {
      code: 'path.strange',
      risk: place.lost ? 'HIGH' : 'MEDIUM',
      text: `the path ${path} is strange: ${place.why}`,
    }
  if (place.where === 'outside')
    return {
      ...{ code: 'path.outside', risk: 'HIGH', text: `${place.path} is outside the project` },
      ...(isTemporary(place.path, fence) && { held: true }),
    }
  if (isTooWide(fence))
    return { code: 'write.wide', risk: 'MEDIUM', text: 'the project is a whole home directory, or holds one' }
  if (MIGRATION.test(place.relative) && isKept(place.relative, fence) === true)
    return {
      code: 'path.applied',
      risk: 'MEDIUM',
      text: `${path} may be applied already: a change needs a new migration`,
    }
  if (isSafe(place.relative, fence.safe))
    return { code: 'write.safe', risk: 'LOW', text: `${path} is in a folder for code` }
  return { code: 'write.project', risk: 'MEDIUM', text: `${path} is in the project but not in a folder for code` }
}

/** What a path in the folder of pcc's own settings and data is. Worktrees are there too, and are judged like any other folder. */
function explainOwnHome(real: string, fence: Fence): OwnFile | undefined {
  const [top, ...others] = [findOwnHome(fence), ...(fence.own?.slice(1) ?? [])].map(
    path => fence.realPath(path) ?? path,
  )
  const works = [fence.boundary, ...(fence.worktree ? [fence.worktree.top] : [])]
  const isOurs = (folder: string) =>
    isInside(real, folder) && !works.some(work => isInside(work, folder) && isInside(real, work))
  if (others.some(isOurs)) return { risk: 'HIGH', why: "holds pcc's own data" }
  if (top === undefined || !isOurs(top)) return undefined
  const [first = ''] = real
    .slice(top.length + 1)
    .split('/')
    .map(foldName)
  if (first === 'worktrees') return undefined
  if (/^(run|data|backups?|environments?)$|\.(toml|json|db|sqlite)(-\w+)?$/.test(first))
    return { risk: 'HIGH', why: "holds pcc's own data, tokens or settings" }
  return { risk: 'MEDIUM', why: 'belongs to pcc itself' }
}

interface OwnFile {
  risk: 'MEDIUM' | 'HIGH'
  why: string
}

/** Worktrees are in `~/.perpetualcc`, so steering files are recognised by the path below the worktree, not by the whole path. */
function stripWorktree(real: string, { worktree }: Fence): string {
  return worktree && isInside(real, worktree.top) ? real.slice(worktree.top.length) : real
}

function judgeRead(path: string, real: string, strange: string | undefined): Reason {
  if (strange !== undefined)
    return { code: 'path.strange', risk: 'MEDIUM', text: `the path ${path} is strange: ${strange}` }
  if (isHistory(real)) return { code: 'path.history', risk: 'MEDIUM', text: `${path} is what a person typed before` }
  if (/^\/dev\/(sd|hd|vd|xvd|nvme|disk|rdisk|mapper|dm-|mem|port|loop|input|video|snd)/.test(real))
    return { code: 'path.device', risk: 'HIGH', text: `${path} is a raw device` }
  if (/^\/dev\/(tcp|udp)\//.test(real)) return { code: 'net.raw', risk: 'HIGH', text: `${path} opens a connection` }
  if (HIDDEN_AT_HOME.test(real) && !CACHES.test(real))
    return {
      code: 'path.hidden',
      risk: 'MEDIUM',
      text: `${path} holds settings of a program, which often hold a token`,
    }
  return { code: 'read', risk: 'LOW', text: `reads ${path}` }
}

/** A home of another person, and the folders of any home in which people keep what belongs to no project. What is beside the project is as near as it is. */
function explainPersonal(path: string, real: string, { boundary, home, worktree }: Fence): Reason | undefined {
  const [, base = '', rest = ''] = HOME.exec(real) ?? []
  if (base === '' || CACHES.test(real)) return undefined
  const works = [boundary, ...(worktree ? [worktree.top, dirname(worktree.repository)] : [])]
  const isNear = works.some(work => {
    const parent = dirname(work)
    const [, above, below = ''] = HOME.exec(parent) ?? []
    // A project that lies among a person's documents makes them no part of it.
    const isApart = above !== undefined && parent !== above && !(PERSONAL.test(below) && !below.includes('/'))
    return real === parent || isInside(real, work) || (isApart && isInside(real, parent))
  })
  if (isNear) return undefined
  if (PERSONAL.test(rest))
    return { code: 'path.personal', risk: 'MEDIUM', text: `${path} is where people keep what belongs to no project` }
  const isOwn = base === home || (base.split('/').length > 2 && works.some(work => isInside(work, base)))
  return isOwn ? undefined : { code: 'path.personal', risk: 'MEDIUM', text: `${path} is the home of somebody else` }
}

/** The folder of all homes, or one home with what is below it. */
const HOME = /^(\/(?:home|Users|mnt\/[a-z]\/Users)(?:\/[^/]+)?|\/root)(?:\/(.*))?$/s
/** Folders for documents, pictures, mail, and what is kept the same on several machines, as systems name them in some languages. */
const PERSONAL =
  /^(documents|desktop|downloads|pictures|photos|movies|videos|music|mail|maildir|mbox|notes|private|personal|taxes|finances?|nextcloud|owncloud|dropbox|onedrive|google drive|icloud drive|box|pcloud|sync|syncthing|obsidian|zotero|calibre library|signal|thunderbird|keepass\w*|dokumente|schreibtisch|bilder|musik|bureau|images|t\u00e9l\u00e9chargements|documentos|escritorio|descargas|im\u00e1genes|documenti|scrivania|scaricati|immagini|snap\/(firefox|chromium|thunderbird|brave|signal-desktop)|library\/(mail|messages|safari|calendars|containers|group containers|mobile documents|cloudstorage|photos|autosave information|application support\/(addressbook|callhistorydb|mobilesync|signal|slack|discord|thunderbird|1password|bitwarden)))( - [^/]*)?(\/|$)/i

/** A hidden file or folder of a person's home. */
const HIDDEN_AT_HOME = /^\/((home|Users)\/[^/]+|root)\/\.[^/]/
/** Hidden folders of a home with programs, packages and what can be made again, and settings without a login. */
const CACHES =
  /^\/(?:home\/[^/]+|Users\/[^/]+|root)\/\.(cache|linuxbrew|npm\/_logs|nvm|fnm|volta|asdf|mise|rbenv|pyenv|rvm|sdkman|rustup|cargo\/(registry|git|bin)|m2\/repository|gradle\/(caches|wrapper|daemon)|ivy2\/cache|nuget\/packages|pub-cache|hex\/packages|mix|deno|bun\/install|yarn\/(berry|cache)|pnpm-store|local\/(bin|lib|share\/(pnpm|virtualenvs|uv|pipx|nvim|man|mise|fnm))|vscode\/extensions|dotnet|ghcup|stack\/(programs|snapshots)|cabal\/packages|opam|elan|perpetualcc\/worktrees|gitconfig|gitignore(_global)?|tool-versions|editorconfig|vimrc|tmux\.conf|profile|zprofile|bash_profile|bashrc|zshrc|inputrc)(\/|$)/

function isSafe(relativePath: string, safe: readonly string[]): boolean {
  return safe.some(folder => {
    const wanted = folder.replace(/^\.?\/+|\/+$/g, '')
    return wanted !== '' && (relativePath === wanted || relativePath.startsWith(`${wanted}/`))
  })
}

/** Whether the project is a whole home directory, or contains one: then being inside it means nothing. */
function isTooWide({ boundary, home }: Fence): boolean {
  return home === boundary || home.startsWith(boundary.endsWith('/') ? boundary : `${boundary}/`)
}

/** Why a session in a worktree must not write a path; undefined if the path is its own, or belongs to no worktree or repository. */
function explainSharedPath(path: string, { top, repository }: WorktreeFence): string | undefined {
  if (isInside(path, repository)) return 'is the git directory that all worktrees share: leave it to git and pcc'
  if (isInside(top, path)) return 'is the worktree itself, or holds it: change the files in it'
  if (isInside(path, top)) return explainOwnFile(path.slice(top.length + 1))
  if (isInside(repository, path)) return 'holds the repository: leave it where it is'
  if (isInside(path, dirname(top))) return 'is beside this worktree, where other tasks work: work in this one'
  if (/\/\.git$/.test(repository) && isInside(path, dirname(repository)))
    return "is the person's own checkout: work in this worktree, pcc merges it"
  return undefined
}

/** Files in the worktree itself that belong to git and to pcc. */
function explainOwnFile(relative: string): string | undefined {
  const [first = '', second = ''] = relative.split('/').map(foldName)
  if (/^(\.git|git~\d)$/.test(first)) return 'tells git which worktree this is: leave it to git and pcc'
  if (first === '.perpetualcc' && (second === 'task.json' || second === ''))
    return 'tells pcc which task this is: leave it as it is'
  return undefined
}

/** Why reading everything below a path would also read secrets: it is a whole home, machine or set of processes, or a hidden folder of a home. */
export function explainWideRead(path: string, home: string): Reason | undefined {
  const bare = path.replace(/\/+$/, '') || '/'
  if (
    /^(\/|\/(home|Users)(\/[^/]+)?|\/root|\/etc|\/proc(\/.*)?|\/sys|\/run|\/var\/run)$/.test(bare) ||
    bare === home ||
    home.startsWith(`${bare}/`)
  )
    return { code: 'read.everything', risk: 'HIGH', text: `${path} is everything a person has, secrets too` }
  if (bare.startsWith(`${home}/.`) && !bare.slice(home.length + 2).includes('/'))
    return { code: 'read.hidden', risk: 'MEDIUM', text: `${path} holds settings of programs, which often hold a token` }
  return undefined
}

/** Whether a path is below /tmp, of which a sandbox has its own. Beside a project that is in /tmp itself are a person's other things. */
export function isTemporary(path: string, { boundary }: Pick<Fence, 'boundary'>): boolean {
  return path.startsWith('/tmp/') && path.length > 5 && !boundary.startsWith('/tmp/')
}

/**
 * Whether a path is a scratch file directly in /tmp: spelled out, nothing yet or a plain file of one's own, and by its name nothing that other
 * programs look for there. To run it, or to set a program up by it, is judged then.
 */
export function isScratchFile(path: string, fence: Fence): boolean {
  if (fence.look === undefined || !SCRATCH.test(path) || LOOKED_FOR.test(path) || !isTemporary(path, fence))
    return false
  const place = locatePath(path, fence.boundary, fence)
  return place.where === 'outside' && place.path === path && isPlainOrAbsent(path)
}

const SCRATCH = /^\/tmp\/[A-Za-z0-9][\w.-]*$/
const LOOKED_FOR =
  /\/(krb5cc|ssh-|systemd-|hsperfdata|dbus-|tmux-|gpg-|pulse-|snap[.-]|agent\b)|\.(sock|socket|fifo|pipe|lock|lck|so|dylib|dll|pth|jar|desktop|service)$/i

/** Whether a write to this path stays in a sandbox and steers nothing that runs outside of it: an ordinary file of the project, or /tmp. */
export function isHeldWrite(path: string, { cwd, fence }: { cwd: string; fence: Fence }): boolean {
  const { code, held } = judgePath(path, 'write', { cwd, fence })
  return code === 'write.safe' || code === 'write.project' || held === true
}

/**
 * Whether removing this path loses nothing that a person made: what builds and tests leave behind, files in /tmp, and in a worktree, whose
 * commits are archived, single files and folders below the first level. A pattern counts by what stands before it, or by its ending.
 */
export function isHeldRemoval(
  { path, deep }: { path: string; deep: boolean },
  { cwd, fence }: { cwd: string; fence: Fence },
): boolean {
  const [, fixed = '', pattern = ''] = /^((?:[^*?[]*\/)?)([^/]*[*?[].*)?/s.exec(path) ?? []
  // What a pattern stands for is known only when it runs, so a way up behind it may lead anywhere.
  if (/(^|\/)\.\.(\/|$)/.test(pattern)) return false
  const target = pattern === '' ? path : fixed || '.'
  // Of what is directly in /tmp a pattern must say more than that.
  if (fixed === '/tmp/' && /^[A-Za-z][\w-]{2,}[\w.*?-]*$/.test(pattern) && isTemporary('/tmp/x', fence)) return true
  const place = locatePath(target, cwd, fence)
  if (place.where === 'strange' || (place.where === 'outside' && !isTemporary(place.path, fence))) return false
  if (place.where === 'outside') return true
  const relative = [place.relative, pattern].filter(Boolean).join('/')
  if (LEFT_OVER.test(relative)) return true
  if (place.relative === '' || !isHeldWrite(target, { cwd, fence })) return false
  return fence.worktree !== undefined && (!deep || place.relative.includes('/'))
}

/**
 * Whether a path is what tools make and make again, as the project itself says: by a name that only tools use, or because git ignores it. A pattern
 * counts by itself.
 */
export function isMadeAgain(path: string, { cwd, fence }: { cwd: string; fence: Fence }): boolean {
  const place = locatePath(path.replace(/\/?[^/]*[*?[].*$/s, '') || '.', cwd, fence)
  const pattern = /[^/]*[*?[].*$/s.exec(path)?.[0]
  if (place.where !== 'inside' || fence.look === undefined) return false
  const relative = [place.relative, pattern].filter(Boolean).join('/')
  const above = place.relative.split('/').map((_, at, steps) => steps.slice(0, at + 1).join('/'))
  if (pattern === undefined && above.some(folder => isIgnoredOutput(folder, fence))) return true
  const isVenv =
    /(^|\/)\.venv\/?$/.test(relative) ||
    (/(^|\/)venv\/?$/.test(relative) && fence.look(`${place.path}/pyvenv.cfg`) !== undefined)
  if (isVenv && isIgnored(relative, fence)) return true
  if (!LEFT_OVER.test(relative)) return false
  return MADE_BY_TOOLS.test(relative) || isIgnored(relative, fence)
}

/**
 * Whether a folder has a usual name of what builds make, `.gitignore` names exactly it, and git keeps no file below it. An index that cannot be read
 * may name any.
 */
function isIgnoredOutput(relative: string, { boundary, look }: Fence): boolean {
  if (!/(^|\/)(bin|obj|out|dist|build|target|coverage|\.cache|tmp|logs)$/.test(relative)) return false
  const rules = look?.(`${boundary}/.gitignore`)
  if (rules?.is !== 'file' || isKept(`${relative}/`, { boundary, look }) !== false) return false
  const lines = rules.bytes
    .toString('utf8')
    .split('\n')
    .map(line => line.trim().replace(/^\/|\/$/g, ''))
  // A file below a folder that is left out cannot be taken in again, but the folder can.
  const name = relative.slice(relative.lastIndexOf('/') + 1)
  return (
    lines.includes(relative) && !lines.some(line => line.startsWith('!') && (/[*?[]/.test(line) || line.includes(name)))
  )
}

/** Whether git keeps a file, or one below a folder that ends in a slash; `undefined` if its index cannot be read. */
function isKept(relative: string, { boundary, look }: Pick<Fence, 'boundary' | 'look'>): boolean | undefined {
  const index = look?.(`${boundary}/.git/index`)
  if (index?.is !== 'file' || index.bytes.length < 8 || index.bytes.toString('latin1', 0, 4) !== 'DIRC')
    return undefined
  // From its fourth form on, an index shortens paths.
  if (index.bytes.readUInt32BE(4) > 3) return undefined
  return index.bytes.includes(relative.endsWith('/') ? relative : `${relative}\0`)
}

/** Whether a folder of the project is one that holds files which git keeps. */
export function holdsKept(path: string, { cwd, fence }: { cwd: string; fence: Fence }): boolean {
  const place = locatePath(path, cwd, fence)
  if (place.where !== 'inside') return false
  return place.relative === '' || isKept(`${place.relative}/`, fence) === true
}

/**
 * What a program's output would take the place of: `fresh` if the file is new, or a log that git ignores, and its name says that it is only read;
 * `kept` if there is a text that git does not ignore.
 */
export function findTarget(path: string, { cwd, fence }: { cwd: string; fence: Fence }): 'fresh' | 'kept' | undefined {
  const place = locatePath(path, cwd, fence)
  if (place.where !== 'inside' || fence.look === undefined || !isHeldWrite(path, { cwd, fence })) return undefined
  const found = fence.look(place.path)
  const ignored = isIgnored(place.relative, fence)
  if (found?.is === 'file' && found.bytes.length > 0 && !ignored) return 'kept'
  if (TAKEN.test(place.relative)) return undefined
  const isLog = LOG_NAME.test(place.relative)
  if (found === undefined && isAbsent(place.path))
    return isLog || (ignored && DATA_NAME.test(place.relative)) ? 'fresh' : undefined
  return found?.is === 'file' && ignored && isLog ? 'fresh' : undefined
}

/** Texts that only are read: what programs print, lists, patches, sums. */
const LOG_NAME = /\.(log|out|err|txt|patch|diff|sum|sha\d+|md5|csv|tsv|prof|lcov|tap|trace|bench|dot)$/i
/** Data that tools could take for settings if git kept it. */
const DATA_NAME = /\.(json|jsonl|ndjson|sql|xml|html|svg|md|ya?ml)$/i
/** Names that tools look for, and files that say how a program is set up. */
const TAKEN =
  /(^|\/)\.|(^|[/._-])(requirements?|constraints?|cmakelists|robots|manifest|licen[cs]e|deps|dependencies|versions?|runtime|packages|config|settings?|secrets?|env|override|compose|package|tsconfig|deno|composer|pom|build|project|app|migrations?|fixtures?|schema\.prisma)([._-][^/]*)?\.(txt|json|xml|ya?ml|sum|sql|md|out|csv)$|(^|\/)(migrations?|seeds?|initdb|init\.d|docker-entrypoint-initdb\.d|requirements|\w+\.d)\//i

/** A step that databases go through once, by its number or time. */
const MIGRATION =
  /(^|\/)(migrations?|migrate|alembic\/versions)\/([\w.-]+\/)*[\w.-]*\d{3,}[\w.-]*(\.(sql|py|rb|[cm]?[jt]s|php|exs|go)|\/migration\.sql)$/

/** Names that only tools use. */
const MADE_BY_TOOLS =
  /(^|\/)(coverage|htmlcov|__pycache__|node_modules\/\.\w[\w.-]*|\.(cache|turbo|vite|parcel-cache|pytest_cache|mypy_cache|ruff_cache|nyc_output|next|nuxt|svelte-kit|angular|tox|nox)|playwright-report|test-results|storybook-static|[\w.-]+\.egg-info)(\/|$)|\.(pyc|pyo|tsbuildinfo|gcda|gcno)$|(^|\/)\.(eslintcache|stylelintcache|coverage)$/

/** Whether the ignore file at the top of the project names a path or a folder above it, and no later line takes that back. */
export function isIgnored(relative: string, { boundary, look }: Fence): boolean {
  const found = look?.(`${boundary}/.gitignore`)
  const rules = found?.is === 'file' ? found.bytes.toString('utf8').split('\n') : []
  const steps = relative.split('/').filter(Boolean)
  const paths = steps.map((_, at) => steps.slice(0, at + 1).join('/'))
  let ignored = false
  for (const rule of rules) {
    const pattern = rule
      .trim()
      .replace(/^!/, '')
      .replace(/\/$/, '')
      .replace(/^\*\*\//, '')
    if (pattern === '' || pattern.startsWith('#')) continue
    const isBare = !pattern.includes('/')
    const names = isBare ? steps : paths
    if (names.some(name => matchesWildcard(pattern.replace(/^\//, ''), name))) ignored = !rule.trim().startsWith('!')
  }
  return ignored
}

/** Whether a file holds the only copy of what is in it: git keeps none, no tool makes it again, and it is no note for now. */
export function isOnlyCopy(relative: string, fence: Fence): boolean {
  return !FOR_NOW.test(relative) && !LEFT_OVER.test(relative) && fence.look !== undefined && isIgnored(relative, fence)
}

const FOR_NOW =
  /(^|\/)(bin|obj|vendor|deps|logs?|caches?|scratch\w*|sandbox|playground|wip|te?mp|node_modules|\.[\w-]+)\/|\.(md|log|out|err|lock|pid|map|d\.ts)$/i

/** Whether a path is by its name one of what builds and tests leave behind. */
export function isLeftOver(path: string): boolean {
  return !path.split('/').includes('..') && LEFT_OVER.test(path.replace(/^\.\//, ''))
}

/** What compilers, bundlers, test runners and package managers make and make again. Names that people use too count only at the top. */
const LEFT_OVER =
  /^(build|out|target|tmp|temp)(\/[\w@.*?-]+)*\/?$|(^|\/)(dist|coverage|htmlcov|node_modules|__pycache__|\.cache|\.next|\.nuxt|\.output|\.turbo|\.vite|\.parcel-cache|\.svelte-kit|\.angular|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.nyc_output|\.gradle|\.eggs|[\w.-]+\.egg-info|playwright-report|test-results|storybook-static|cmake-build-[\w-]+|_build)(\/[\w@.*?-]+)*\/?$|^([\w@-][\w@.-]*\/)*[\w.*-]*\.(log|tmp|pyc|pyo|o|obj|class|tsbuildinfo|gcda|gcno|profraw|prof)$|(^|\/)(\.coverage(\.[\w.*]+)?|\.eslintcache|\.stylelintcache|coverage\.(out|xml|txt)|npm-debug\.log\*?|\.DS_Store)$/
