import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { messageOf } from '../../base/errors.ts'
import { type GitResult, git, gitSeries, lockWorktrees } from './git.ts'
import { findGitFolder } from './git-folder.ts'

/**
 * Why the objects by which a branch would move from one commit to another are not what their ids say; undefined if they are. Git reads
 * an object without hashing it, and an agent can write into the folder of objects that all checkouts share: gates would have run on one
 * file, and the merge would write another one. Hashed are the new commits with their trees and files, all folders of both commits, and
 * every file that differs between them.
 */
export async function whyObjectsForged(repository: string, from: string, to: string): Promise<string | undefined> {
  const moved = await listMoved(repository, from, to)
  if (typeof moved === 'string') return moved
  const roots = [from, `${from}^{tree}`, `${to}^{tree}`]
  const read = await readHashed(repository, new Set([...moved, ...roots]))
  if (read !== TOO_LARGE) return read.forged
  const folder = await findGitFolder(repository)
  const ids = await git(repository, ['rev-parse', ...roots])
  if (!ids.ok) return ids.stderr.trim()
  return packHashed(repository, folder?.common ?? repository, moved.union(idsIn(ids)), async () => undefined)
}

/** Objects that have the content that their ids say. */
type Contents = Map<string, Content>
interface Content {
  kind: string
  body: Buffer
}

/** They are too large for memory, or git cannot read one of them: it says why where it packs them. */
const TOO_LARGE = 'too large'

/**
 * Reads objects as git reads them and hashes them here, which takes a fraction of the time of a pack. `forged` says which one is not what its
 * id says. Two contents made for one SHA-1 are not found, as they would be by git's own hashing: that takes more computing than anybody lends an agent.
 */
async function readHashed(
  repository: string,
  ids: ReadonlySet<string>,
): Promise<{ contents: Contents; forged?: string } | typeof TOO_LARGE> {
  const contents: Contents = new Map()
  if (ids.size > MOST_IN_MEMORY) return TOO_LARGE
  const input = [...ids].map(id => `${id}\n`).join('')
  const limits = { maxBytes: MOST_BYTES_IN_MEMORY, timeoutMs: PATIENCE_MS }
  const { ok, stdout } = await git(repository, ['cat-file', '--batch'], { input, printsBytes: true, ...limits })
  if (!ok) return TOO_LARGE
  const bytes = Buffer.from(stdout, 'latin1')
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\n', at)
    const [id = '', kind = '', size] = bytes.toString('latin1', at, end).split(' ')
    if (end < 0 || size === undefined) return TOO_LARGE // it is missing
    const body = bytes.subarray(end + 1, end + 1 + Number(size))
    if (hashOf(kind, body, id.length) !== id) return { contents, forged: `${kind} ${id} has another content` }
    contents.set(id, { kind, body })
    at = end + 2 + Number(size)
  }
  return { contents }
}

const MOST_IN_MEMORY = 5_000
const MOST_BYTES_IN_MEMORY = 8_000_000

function hashOf(kind: string, body: Buffer, length: number): string {
  const algorithm = length === 40 ? 'sha1' : 'sha256'
  return createHash(algorithm).update(headerOf(kind, body)).update(body).digest('hex')
}

function headerOf(kind: string, body: Buffer): Buffer {
  return Buffer.from(`${kind} ${body.length}\0`)
}

/** What an object holds: a commit its tree, a tree its files and folders, but for submodules. */
function heldBy(id: string, { kind, body }: Content): string[] {
  if (kind === 'commit') return [body.toString('latin1', 5, 5 + id.length)] // after "tree "
  const held: string[] = []
  for (let at = 0; kind === 'tree' && at < body.length; ) {
    const end = body.indexOf(0, at) + 1
    const next = end + id.length / 2
    if (!body.toString('latin1', at, at + 7).startsWith('160000 ')) held.push(body.toString('hex', end, next))
    at = next
  }
  return held
}

/**
 * Packs objects of a repository aside, hashes them, and has the pack used; or says why they are not what their ids say. What is written stays
 * apart from the repository.
 */
async function packHashed(
  repository: string,
  common: string,
  wanted: ReadonlySet<string>,
  use: (folder: string) => Promise<void>,
): Promise<string | undefined> {
  const scratch = await mkdtemp(join(tmpdir(), 'pcc-objects-'))
  try {
    await mkdir(join(scratch, 'pack'))
    const env = {
      GIT_OBJECT_DIRECTORY: scratch,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(common, 'objects')),
    }
    const pack = join(scratch, 'pack', 'objects')
    const input = [...wanted].map(id => `${id}\n`).join('')
    const packed = await gitSeries(
      repository,
      outputOf => [
        ['pack-objects', '-q', '--window=0', pack],
        ['index-pack', '--verify', `${pack}-${outputOf(0)}.pack`],
      ],
      { env, input, timeoutMs: PATIENCE_MS },
    )
    if (!packed.ok) return packed.stderr.trim()
    await use(join(scratch, 'pack'))
    return undefined
  } catch (thrown) {
    return messageOf(thrown)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** For a call of git that reads objects: those that were hashed, and no others. */
export type HashedObjects = Record<'GIT_OBJECT_DIRECTORY', string>

const HASHED_FOLDER = 'objects'
/** With more packs or loose objects than this another folder is begun: each verification adds some. */
const MOST_PACKS = 100
const MOST_LOOSE = 20_000
/** How often a folder was begun anew, by repository. */
const begun = new Map<string, number>()

/** What is in a folder: with each object all that it holds. */
interface HashedFolder {
  ids: Set<string>
  loose: number
}

/** By folder, the one that was used last at the end. What is not known here is read anew. */
const hashedFolders = new Map<string, HashedFolder>()
/** An id takes about 80 bytes. */
const MOST_IDS = 200_000

/**
 * Copies all that two commits or trees hold into a folder that no agent can write, hashed on the way, or says why that fails. An agent can
 * put another content under the id of an object at any moment: the earlier version of a test, for instance, with which its work is compared. What
 * was hashed before is not hashed again.
 */
export async function hashObjects(
  top: string,
  ends: readonly [base: string, head: string],
  runDir: string,
): Promise<{ objects: HashedObjects } | { problem: string }> {
  const common = (await findGitFolder(top))?.common ?? top
  const name = createHash('sha256').update(common).digest('hex').slice(0, 16)
  const all = join(runDir, HASHED_FOLDER, name)
  using _turn = await lockWorktrees(all)
  const folder = await chooseFolder(all)
  if (!existsSync(join(folder, 'pack'))) hashedFolders.delete(folder)
  const known = hashedFolders.get(folder)
  try {
    await mkdir(join(folder, 'pack'), { recursive: true, mode: 0o700 })
    const added = known && (await addNew(top, ends, { folder, known }))
    const result = added ?? (await addAll(top, ends, { folder, common }))
    if ('problem' in result) return result
    const { ids, loose } = result
    const found = { ids: known?.ids.union(ids) ?? ids, loose: (known?.loose ?? 0) + loose }
    keepKnown(folder, found)
    return { objects: { GIT_OBJECT_DIRECTORY: folder } }
  } catch (thrown) {
    return { problem: messageOf(thrown) }
  }
}

function keepKnown(folder: string, found: HashedFolder): void {
  hashedFolders.delete(folder)
  hashedFolders.set(folder, found)
  let count = [...hashedFolders.values()].reduce((sum, { ids }) => sum + ids.size, 0)
  for (const [oldest, { ids }] of hashedFolders) {
    if (count <= MOST_IDS) return
    hashedFolders.delete(oldest)
    count -= ids.size
  }
}

/** Adds what two commits or trees hold beside what is known: mostly a handful of objects. Undefined where they are many. */
async function addNew(
  top: string,
  ends: readonly [base: string, head: string],
  { folder, known }: { folder: string; known: HashedFolder },
): Promise<HashedFolder | { problem: string } | undefined> {
  // Only so that one call of git reads most of them: what is missing is read after it.
  const changed = await git(top, ['diff-tree', '-r', '-t', '-z', '--no-renames', ...ends], { maxBytes: MOST_BYTES })
  const likely = idsInDiff(changed.stdout).now.filter(id => !known.ids.has(id))
  const contents: Contents = new Map()
  let next = new Set([...ends, ...ends.map(end => `${end}^{tree}`), ...likely])
  while (next.size > 0) {
    const read = await readHashed(top, next)
    if (read === TOO_LARGE) return undefined
    if (read.forged) return { problem: read.forged }
    for (const [id, content] of read.contents) contents.set(id, content)
    const held = [...contents].flatMap(([id, content]) => (known.ids.has(id) ? [] : heldBy(id, content)))
    next = new Set(held.filter(id => !known.ids.has(id) && !contents.has(id)))
  }
  const fresh = [...contents].filter(([id]) => !known.ids.has(id))
  for (const [id, content] of fresh) await writeLoose(folder, id, content)
  return { ids: new Set(fresh.map(([id]) => id)), loose: fresh.length }
}

/** Copies all that two commits or trees hold. */
async function addAll(
  top: string,
  ends: readonly [base: string, head: string],
  { folder, common }: { folder: string; common: string },
): Promise<HashedFolder | { problem: string }> {
  const objects: HashedObjects = { GIT_OBJECT_DIRECTORY: folder }
  const read = (args: string[], env?: HashedObjects) =>
    git(top, args, { env, maxBytes: MOST_BYTES, timeoutMs: PATIENCE_MS })
  const list = (env?: HashedObjects) => read(['rev-list', '--objects', '--no-object-names', '--no-walk', ...ends], env)
  const everything = ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']
  const [wanted, present] = await Promise.all([list(), read(everything, objects)])
  if (!wanted.ok) return { problem: wanted.stderr.trim() }
  const missing = idsIn(wanted).difference(idsIn(present))
  const problem =
    missing.size === 0
      ? undefined
      : await packHashed(top, common, missing, async packs => {
          // Git looks for the index of a pack: it comes last.
          const names = (await readdir(packs)).filter(each => /\.(pack|idx)$/.test(each))
          for (const each of names.toSorted().toReversed())
            await copyFile(join(packs, each), join(folder, 'pack', each))
        })
  if (problem !== undefined) return { problem }
  // The list itself may have come out of exchanged folders.
  const hashed = await list(objects)
  if (!hashed.ok) return { problem: hashed.stderr.trim() }
  const ids = idsIn(hashed)
  const isSame = ids.symmetricDifference(idsIn(wanted)).size === 0
  return isSame ? { ids, loose: 0 } : { problem: 'folders were exchanged meanwhile' }
}

function idsIn({ stdout }: GitResult): Set<string> {
  return new Set(stdout.split('\n').filter(Boolean))
}

/** Other verifications may still read the folder before this one; nobody reads the one before that. */
async function chooseFolder(all: string): Promise<string> {
  const now = begun.get(all) ?? 0
  const folder = join(all, `${now}`)
  const packs = await readdir(join(folder, 'pack')).catch(() => [])
  if (packs.length <= 2 * MOST_PACKS && (hashedFolders.get(folder)?.loose ?? 0) <= MOST_LOOSE) return folder
  hashedFolders.delete(folder)
  await rm(join(all, `${now - 1}`), { recursive: true, force: true })
  begun.set(all, now + 1)
  return join(all, `${now + 1}`)
}

/** Puts a commit that pcc made in the repository beside what is hashed: git itself writes in the repository only. Returns whether it is what its id says. */
export async function addHashedCommit(top: string, id: string, objects: HashedObjects): Promise<boolean> {
  const { ok, stdout } = await git(top, ['cat-file', 'commit', id], { printsBytes: true })
  const body = Buffer.from(stdout, 'latin1')
  if (!ok || hashOf('commit', body, id.length) !== id) return false
  await writeLoose(objects.GIT_OBJECT_DIRECTORY, id, { kind: 'commit', body })
  return true
}

async function writeLoose(folder: string, id: string, { kind, body }: Content): Promise<void> {
  const below = join(folder, id.slice(0, 2))
  await mkdir(below, { recursive: true, mode: 0o700 })
  const file = join(below, id.slice(2))
  // A disk that is full half way leaves no half of an object.
  const whole = join(below, `tmp_obj_${id.slice(2)}`)
  await writeFile(whole, deflateSync(Buffer.concat([headerOf(kind, body), body]), { level: 1 }))
  await rename(whole, file)
}

/** Removes what a dead daemon left. */
export function removeHashedObjects(runDir: string): Promise<void> {
  return rm(join(runDir, HASHED_FOLDER), { recursive: true, force: true })
}

/** A large change on a slow disk takes its time. */
const PATIENCE_MS = 10 * 60_000
const MOST_BYTES = 512_000_000

/** The ids of those objects but for the first commit and the two topmost folders, or git's error. What a forged folder would hide is not missed, because the folder itself is in the list. */
async function listMoved(repository: string, from: string, to: string): Promise<Set<string> | string> {
  const read = (args: string[]) => git(repository, args, { maxBytes: MOST_BYTES, timeoutMs: PATIENCE_MS })
  const results = await Promise.all([
    read(['rev-list', '--objects', '--no-object-names', to, `^${from}`]),
    read(['ls-tree', '-r', '-d', '-z', to]),
    read(['diff-tree', '-r', '-t', '-z', '--no-renames', from, to]),
  ])
  const failed = results.find(({ ok }) => !ok)
  if (failed) return failed.stderr.trim()
  const [made, folders, changed] = results
  const differing = idsInDiff(changed.stdout)
  return new Set([
    ...idsIn(made),
    ...folders.stdout.split('\0').flatMap(line => /^040000 tree ([0-9a-f]+)\t/.exec(line)?.[1] ?? []),
    // A file that stays as it is, or goes, is not written.
    ...differing.now,
    ...differing.foldersBefore,
  ])
}

/** The files and folders that a raw difference shows. A commit is that of a submodule. */
function idsInDiff(raw: string): { now: string[]; foldersBefore: string[] } {
  // A path follows each line, and may look like one.
  const lines = raw
    .split('\0')
    .filter((_, at) => at % 2 === 0)
    .map(line => line.slice(1).split(' '))
  return {
    now: lines.flatMap(([, mode = '', , id]) => (id === undefined || /^(000|160)000$/.test(mode) ? [] : [id])),
    foldersBefore: lines.flatMap(([mode, , id]) => (id !== undefined && mode === '040000' ? [id] : [])),
  }
}
