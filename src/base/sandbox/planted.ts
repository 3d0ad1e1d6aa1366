import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { readRegularFileNow } from '../files.ts'
import { isInside } from '../is-inside.ts'
import { lookUpEntry, realPathIfAny } from '../is-there.ts'
import { parseJson } from '../json.ts'
import { openFolderBelow } from '../real-folder.ts'
import { ask, isSubmodule, parseIndexFile, readHead, readStandIns, removeStandIns, type StandIns } from './git-files.ts'
import type { SandboxSettings } from './settings.ts'

// What an agent leaves in a checkout and in git's folders, for a git outside of its sandbox to follow: the person's, days later. Names of files
// need not be text, and what is missed here runs, so paths are kept one letter a byte (latin1).

type Checkouts = NonNullable<SandboxSettings['git']>

/** What was there before an agent began: that is not taken for its own. */
export interface BeforeAgent {
  /** Milliseconds since 1970. */
  at: number
  /** Links and pipes in git's folders. */
  links: string[]
  /** The folders that the index calls submodules, and those of them that hold a repository of their own. */
  submodules: string[]
  inner: string[]
  /** The commit that is checked out, if there is one. */
  head: string | undefined
  /** What passes for something else in a main checkout, the only one in which an agent can write that. */
  standIns?: StandIns | undefined
}

export function readBefore(git: Checkouts): BeforeAgent {
  const submodules = submodulesIn(git) ?? []
  const inner = submodules.filter(path => hasInner(git, path))
  const standIns = git.own === git.common ? readStandIns(git.common) : undefined
  return { at: Date.now(), links: listPlantable(git), submodules, inner, head: headOf(git), standIns }
}

/** In the folder of a sandbox, which nothing inside sees, for a daemon that adopts it. */
const BEFORE = 'before-agent.json'

type Where = Pick<SandboxSettings, 'git' | 'branches'>

export function saveBefore(folder: string, { git, branches }: Where, before: BeforeAgent | undefined): void {
  writeFileSync(join(folder, BEFORE), JSON.stringify({ git, branches, before }), { mode: 0o600 })
}

/** What is known of the agents whose sandboxes have their folders here. Of others no link is removed, and no repository set aside. */
export function readSavedBefore(scratch: string | undefined): (Where & { before?: BeforeAgent })[] {
  const names = scratch === undefined || !existsSync(scratch) ? [] : readdirSync(scratch)
  const boxes = names.map(name => join(scratch ?? '', name, BEFORE))
  return boxes.flatMap(path => (parseJson(readRegularFileNow(path)?.toString() ?? '') ?? []) as Where)
}

/** Removes what agents have left whose daemon was killed before it could. */
export function removeLeftPlanted(scratch: string, log: (line: string) => void): void {
  for (const { before, ...where } of readSavedBefore(scratch)) removePlanted(where, { before, log })
}

/** Removes what an agent has left for git to follow. Each by itself: what cannot be removed is reported, and holds up nothing else. */
export function removePlanted(
  { git, branches }: Where,
  { before, log }: { before: BeforeAgent | undefined; log: (line: string) => void },
): void {
  if (!git) return
  const each = (what: string, work: () => void) => {
    try {
      work()
    } catch (thrown) {
      log(
        `${what} is not removed (${thrown instanceof Error ? thrown.message : thrown}): look at it before you use git there`,
      )
    }
  }
  const since = before?.at ?? 0
  each('what was put among the objects', () => removePipes(git.common, since))
  if (branches !== undefined) each('what was put among the refs', () => removePlantedRefs(git.common, branches))
  if (!before) return
  for (const path of listPlantable(git))
    if (!before.links.includes(path)) each(shown(path), () => rmSync(bytes(path), { force: true }))
  each('what was put before branches', () => removeShadows(git, since))
  const { standIns } = before
  if (standIns) each('what was put for other objects', () => removeStandIns(git, standIns, log))
  const lists = [submodulesIn(git), submodulesSince(git, before.head)]
  // Any of them may be called a submodule where nobody says which.
  const listed = lists.flatMap(list => list ?? innerSince(git.top, since))
  const paths = new Set([...listed, ...before.submodules])
  for (const path of paths)
    if (!before.inner.includes(path)) each(`${git.top}/${shown(path)}/.git`, () => setAside(git, path, log))
}

const bytes = (path: string) => Buffer.from(path, 'latin1')
const shown = (path: string) => bytes(path).toString()

/** One letter a byte. */
function asBytes(path: string): string {
  return Buffer.from(path).toString('latin1')
}

/** The entries of a folder; none if it is gone. One that is closed is opened: git needs no right to list it, and finds links in it by name. */
function entriesOf(folder: string): Dirent[] {
  const list = () => readdirSync(bytes(folder), { withFileTypes: true, encoding: 'latin1' }) as unknown as Dirent[]
  try {
    return list()
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EACCES') return [] // a ref that was just removed took its folder along
  }
  try {
    openClosed(dirname(folder), basename(folder))
    return list()
  } catch {
    return [] // it is somebody else's
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(bytes(path), { throwIfNoEntry: false })
  } catch {
    return undefined // it is in a closed folder
  }
}

/** Kernels stamp files by a coarse clock. */
const TICK_MS = 20

/**
 * Removes pipes that were put among the objects since a time, and what else is neither file, folder nor link: every git would wait for one that
 * has the name of a file which it reads, also the person's. Nobody can set back the time at which a folder was changed.
 */
function removePipes(common: string, since: number): void {
  const objects = join(asBytes(common), 'objects')
  const folders = [objects, ...entriesOf(objects).map(({ name }) => join(objects, name))]
  for (const folder of folders) {
    const stats = statsOf(folder)
    if (!stats?.isDirectory() || stats.ctimeMs < since - TICK_MS) continue
    for (const entry of entriesOf(folder))
      if (!entry.isFile() && !entry.isDirectory() && !entry.isSymbolicLink())
        rmSync(bytes(join(folder, entry.name)), { force: true })
  }
}

/**
 * Removes what an agent has left among refs and their logs and git never has there: links, to whose ends the next git outside would append,
 * and pipes, for which it would wait. Other branches and tags are not the agent's to write.
 */
function removePlantedRefs(common: string, branches: string): void {
  const roots = ['refs', 'logs/refs'].map(name => join(asBytes(common), name))
  const open = [...roots, ...roots.map(root => join(root, 'heads', branches))]
  const others = roots.flatMap(root => [join(root, 'heads'), join(root, 'tags')])
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (statsOf(folder)?.isDirectory() !== true) continue
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      if (!entry.isFile() && !entry.isDirectory()) rmSync(bytes(path), { force: true })
      else if (entry.isDirectory() && !others.includes(path)) open.push(path)
    }
  }
}

/** Folders of the main one that are read-only inside, or in which git follows no link to write. */
const PASSED_OVER = new Set(['objects', 'hooks', 'worktrees', 'modules', 'lfs', 'annex'])

/**
 * Links and pipes where the next git writes: to what a link leads to (`COMMIT_EDITMSG`, `logs/HEAD`, `objects/ab`). In a worktree these are in
 * the folder that git keeps for it. A HEAD that is a link to a branch is git's own, and Emacs makes links that begin with `.#`.
 */
function listPlantable({ own, common }: Checkouts): string[] {
  const [root, objects] = [asBytes(own), join(asBytes(common), 'objects')]
  const open = [root]
  const found = entriesOf(objects).flatMap(entry => (entry.isSymbolicLink() ? [join(objects, entry.name)] : []))
  for (let folder = open.pop(); folder !== undefined; folder = open.pop())
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      const isPassedOver = own === common && folder === root && PASSED_OVER.has(entry.name)
      if (entry.isDirectory() && !isPassedOver) open.push(path)
      const isOwn = entry.name.startsWith('.#') || (entry.name === 'HEAD' && isBranchLink(path))
      if (entry.isFIFO() || (entry.isSymbolicLink() && !isOwn)) found.push(path)
    }
  return found
}

function isBranchLink(path: string): boolean {
  try {
    return readlinkSync(bytes(path)).startsWith('refs/heads/')
  } catch {
    return false
  }
}

/** What git and pcc keep below `refs`. */
const KNOWN_REFS = new Set(
  'heads tags remotes notes stash bisect worktree rewritten replace original prefetch pcc'.split(' '),
)

/**
 * Removes new refs that stand before a branch of the same short name: `git merge main` takes `.git/main` or `refs/main`, where it is there,
 * and not the branch.
 */
function removeShadows({ own, common }: Checkouts, since: number): void {
  const root = asBytes(common)
  const refs = join(root, 'refs')
  const packed = readRegularFileNow(join(common, 'packed-refs'))?.toString('latin1') ?? ''
  const isName = (name: string) =>
    ['heads', 'tags', 'remotes'].some(
      kind => statsOf(join(refs, kind, name)) !== undefined || packed.includes(` refs/${kind}/${name}\n`),
    )
  const look = (folder: string, name: string): void => {
    const path = join(folder, name)
    const stats = statsOf(path)
    if (stats?.isDirectory() && folder === refs)
      for (const entry of entriesOf(path)) look(folder, `${name}/${entry.name}`)
    if (!stats?.isFile() || stats.ctimeMs < since - TICK_MS || stats.size > MOST_OF_REF) return
    const text = readRegularFileNow(bytes(path))?.toString('latin1') ?? ''
    const isRef = /^([0-9a-f]{40,64}|ref: \S+)\s*$/.test(text)
    if (isRef && (isName(name) || (name === 'HEAD' && folder === refs))) rmSync(bytes(path), { force: true })
  }
  for (const folder of new Set([root, asBytes(own)]))
    for (const { name } of entriesOf(folder)) if (!/^[A-Z_]+$/.test(name)) look(folder, name)
  for (const { name } of entriesOf(refs)) if (!KNOWN_REFS.has(name)) look(refs, name)
}

const MOST_OF_REF = 1_000

/** What an inner repository is called after its end, with a word that no agent knows: no git takes it for one, and nothing in it is lost. */
const ASIDE = '.git-set-aside'

/**
 * Sets aside the inner repository of a folder that git calls a submodule, which the agent has made one. `git status` at the top asks each
 * submodule by a git that runs there and obeys its settings, which name programs; so does the prompt of many shells. An agent cannot add an
 * honest submodule: `modules` is read-only.
 */
function setAside(git: Checkouts, path: string, log: (line: string) => void): void {
  const work = () =>
    withInner(git, path, at => renameSync(at, `${at.slice(0, -'.git'.length)}${ASIDE}-${randomUUID()}`))
  if (retryOpened(git.top, path, work))
    log(
      `the repository that was made at ${git.top}/${shown(path)} is set aside: git at the top would run what it names`,
    )
}

function retryOpened(top: string, path: string, work: () => boolean): boolean {
  try {
    return work()
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code !== 'EACCES' && code !== 'EPERM') throw thrown
    openClosed(asBytes(top), path)
    return work()
  }
}

/** Does something with the `.git` of a submodule. False if there is none, or an honest one. Throws where a folder is closed. */
function withInner({ top, common }: Checkouts, path: string, work: (at: string) => void): boolean {
  try {
    // A link on the way leads to a folder of the person.
    using folder = openFolderBelow(top, path, { encoding: 'latin1' })
    const at = folder?.at('.git')
    if (!folder || at === undefined || !lstatSync(at, { throwIfNoEntry: false })) return false
    if (isHonest(folder.at('.'), common)) return false
    work(at)
    return true
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return false
    throw thrown
  }
}

/** Whether there is such a repository now. What is in a closed folder is not known. */
function hasInner(git: Checkouts, path: string): boolean {
  try {
    return withInner(git, path, () => undefined)
  } catch {
    return false
  }
}

/** Whether the `.git` in an open folder is a file that names a repository in the folder for those of submodules. */
function isHonest(folder: string, common: string): boolean {
  const file = `${folder}/.git`
  const text = lookUpEntry(file)?.isFile() ? readRegularFileNow(file)?.toString() : undefined
  const [, named] = /^gitdir: (.+?)\n?$/s.exec(text ?? '') ?? []
  // Git cuts more off at the end than one line break, and would be led elsewhere; it writes no such file.
  if (named === undefined || /[\r\n\0]/.test(named)) return false
  // Not made shorter: the folder above is that of the open one.
  const target = realPathIfAny(isAbsolute(named) ? named : `${folder}/${named}`)
  const modules = realPathIfAny(join(common, 'modules'))
  return target !== undefined && modules !== undefined && target !== modules && isInside(target, modules)
}

/** A file that is only a name for another one, on Linux. */
const PATH_ONLY = 0o10000000

/** Opens folders that were closed to their owner. No link is followed. */
function openClosed(top: string, path: string): void {
  let at = openSync(bytes(top), PATH_ONLY | constants.O_DIRECTORY)
  try {
    for (const name of path.split('/')) {
      const flags = PATH_ONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
      const next = openSync(bytes(`/proc/self/fd/${at}/${name}`), flags)
      closeSync(at)
      at = next
      const { mode } = statSync(`/proc/self/fd/${at}`)
      if ((mode & 0o700) !== 0o700) chmodSync(`/proc/self/fd/${at}`, (mode & 0o777) | 0o700)
    }
  } finally {
    closeSync(at)
  }
}

/** The folders that the index of a checkout calls submodules; undefined if neither its file nor git says so. */
function submodulesIn({ top, own }: Checkouts): string[] | undefined {
  const file = join(own, 'index')
  if (!statsOf(asBytes(file))) return []
  // An agent can make large files of nothing, and nobody is served while they are read: git reads only what counts.
  const index = readRegularFileNow(file, MOST_READ_BYTES)
  const marks = index && parseIndexFile(index, bytes => bytes.toString('latin1'))
  if (marks) return marks.submodules
  const words = ask(top, ['ls-files', '-s', '-z'])
  return words?.flatMap(line => (isSubmodule(Number.parseInt(line, 8)) ? line.slice(line.indexOf('\t') + 1) : []))
}

/** The commit that is checked out; git is asked where it is not in git's files, or behind a branch that is another one's name. */
function headOf(git: Checkouts): string | undefined {
  return readHead(git) ?? ask(git.top, ['rev-parse', '-q', '--verify', 'HEAD'])?.[0]?.trim()
}

/** The folders that a commit since then calls submodules: `git reset` and `git switch` bring them back into the index. */
function submodulesSince(git: Checkouts, before: string | undefined): string[] | undefined {
  const now = headOf(git)
  if (now === before) return []
  if (now === undefined) return undefined
  const since = before === undefined ? [] : ['--not', before]
  const log = 'log -m -z --raw --root --no-abbrev --no-renames --format='.split(' ')
  const words = ask(git.top, [...log, now, ...since, '--'])
  return words?.flatMap((word, at) => (/^\n*:(160000 |\d{6} 160000 )/.test(word) ? (words[at + 1] ?? []) : []))
}

/** The folders with a repository in them that was changed since then. */
function innerSince(top: string, since: number): string[] {
  const folders = ['']
  for (const folder of folders)
    for (const entry of entriesOf(join(asBytes(top), folder)))
      if (entry.isDirectory() && entry.name !== '.git') folders.push(join(folder, entry.name))
  const changed = (folder: string) => statsOf(join(asBytes(top), folder, '.git'))?.ctimeMs ?? 0
  return folders.filter(folder => folder !== '' && changed(folder) >= since - TICK_MS)
}

/** An index of half a million files. */
const MOST_READ_BYTES = 50_000_000
