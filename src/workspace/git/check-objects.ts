import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { git, gitSeries } from './git.ts'
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
  const scratch = await mkdtemp(join(tmpdir(), 'pcc-objects-'))
  try {
    await mkdir(join(scratch, 'pack'))
    // What is written stays apart from the repository; its objects are read all the same.
    const env = {
      GIT_OBJECT_DIRECTORY: scratch,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(folder?.common ?? repository, 'objects')),
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
    return undefined
  } catch (thrown) {
    return messageOf(thrown)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
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
  const entries = [...known, ...after.stdout.split('\0')].flatMap(line => {
    const [, kind = '', id = ''] = /^\d+ (\w+) ([0-9a-f]+)\t/.exec(line) ?? []
    // A file that stays as it is is not written, and a commit is that of a submodule.
    return kind === 'tree' || (kind === 'blob' && !known.has(line)) ? [id] : []
  })
  // Nothing is new where the target has all of the work already.
  return new Set([...`${made.stdout}${roots.stdout}`.split('\n').filter(Boolean), ...entries])
}
