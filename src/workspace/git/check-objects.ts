import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
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
  const folder = await findGitFolder(repository)
  const wanted = await listObjects(repository, from, to)
  if (typeof wanted === 'string') return wanted
  return packHashed(repository, folder?.common ?? repository, wanted, async () => undefined)
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
/** With more packs than this another folder is begun: each verification adds one. */
const MOST_PACKS = 100
/** How often a folder was begun anew, by repository. */
const begun = new Map<string, number>()

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
  const objects: HashedObjects = { GIT_OBJECT_DIRECTORY: folder }
  await mkdir(join(folder, 'pack'), { recursive: true, mode: 0o700 })
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
  const isSame = idsIn(hashed).symmetricDifference(idsIn(wanted)).size === 0
  return isSame ? { objects } : { problem: 'folders were exchanged meanwhile' }
}

function idsIn({ stdout }: GitResult): Set<string> {
  return new Set(stdout.split('\n').filter(Boolean))
}

/** Other verifications may still read the folder before this one; nobody reads the one before that. */
async function chooseFolder(all: string): Promise<string> {
  const now = begun.get(all) ?? 0
  const packs = await readdir(join(all, `${now}`, 'pack')).catch(() => [])
  if (packs.length <= 2 * MOST_PACKS) return join(all, `${now}`)
  await rm(join(all, `${now - 1}`), { recursive: true, force: true })
  begun.set(all, now + 1)
  return join(all, `${now + 1}`)
}

/** Puts a commit that pcc made in the repository beside what is hashed: git itself writes in the repository only. Returns whether it is what its id says. */
export async function addHashedCommit(top: string, id: string, objects: HashedObjects): Promise<boolean> {
  const { ok, stdout } = await git(top, ['cat-file', 'commit', id])
  const data = Buffer.from(`commit ${Buffer.byteLength(stdout)}\0${stdout}`)
  const kind = id.length === 40 ? 'sha1' : 'sha256'
  if (!ok || createHash(kind).update(data).digest('hex') !== id) return false
  const folder = join(objects.GIT_OBJECT_DIRECTORY, id.slice(0, 2))
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, id.slice(2)), deflateSync(data))
  return true
}

/** Removes what a dead daemon left. */
export function removeHashedObjects(runDir: string): Promise<void> {
  return rm(join(runDir, HASHED_FOLDER), { recursive: true, force: true })
}

/** A large change on a slow disk takes its time. */
const PATIENCE_MS = 10 * 60_000
const MOST_BYTES = 512_000_000

/** The ids of those objects, or git's error. What a forged folder would hide is not missed, because the folder itself is in the list. */
async function listObjects(repository: string, from: string, to: string): Promise<Set<string> | string> {
  const read = (args: string[]) => git(repository, args, { maxBytes: MOST_BYTES, timeoutMs: PATIENCE_MS })
  const [made, roots, before, after] = await Promise.all([
    read(['rev-list', '--objects', '--no-object-names', to, `^${from}`]),
    read(['rev-parse', from, `${from}^{tree}`, `${to}^{tree}`]),
    read(['ls-tree', '-r', '-t', '-z', from]),
    read(['ls-tree', '-r', '-t', '-z', to]),
  ])
  const failed = [made, roots, before, after].find(({ ok }) => !ok)
  if (failed) return failed.stderr.trim()
  const known = new Set(before.stdout.split('\0'))
  const entries = [...known, ...after.stdout.split('\0')].flatMap(line =>
    // A file that stays as it is is not written.
    idOf(line, known.has(line) ? ['tree'] : ['tree', 'blob']),
  )
  // Nothing is new where the target has all of the work already.
  return new Set([...`${made.stdout}${roots.stdout}`.split('\n').filter(Boolean), ...entries])
}

/** The id in a line of `ls-tree`, if it is one of these kinds. A commit is that of a submodule. */
function idOf(line: string, kinds: readonly string[]): string[] {
  const [, kind = '', id = ''] = /^\d+ (\w+) ([0-9a-f]+)\t/.exec(line) ?? []
  return kinds.includes(kind) ? [id] : []
}
