import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import type { SurfaceFile } from './surface.ts'

export type ReadFile =
  | { is: 'absent' }
  /** `outside` is where a link out of the project leads. */
  | { is: 'file'; sha256: string; text: string; outside?: string }
  | { is: 'unreadable'; problem: string; target: string }

/** A surface file's content, links followed. Scripts may be large, so theirs is hashed but not kept. */
export async function readSurface({ path, within, kind, problem }: SurfaceFile): Promise<ReadFile> {
  if (problem !== undefined) return { is: 'unreadable', problem, target: path }
  try {
    const real = await realpath(path)
    const fence = await realpath(within)
    const isInside = real.startsWith(fence.endsWith(sep) ? fence : fence + sep)
    const outside = isInside ? {} : { outside: real }
    // Opening a pipe would wait for a writer for ever.
    if (!(await stat(real)).isFile()) return { is: 'unreadable', problem: 'not a regular file', target: real }
    if (kind === 'scripts') return { is: 'file', sha256: await hashOf(real), text: '', ...outside }
    const bytes = await readFile(real)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return { is: 'file', sha256, text: bytes.toString('utf8'), ...outside }
  } catch (thrown) {
    // A link to nothing loads nothing; when its target appears it is judged like any other.
    if (isAbsent(thrown)) return { is: 'absent' }
    return { is: 'unreadable', problem: messageOf(thrown), target: path }
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function isAbsent(thrown: unknown): boolean {
  const code = (thrown as NodeJS.ErrnoException).code
  return code === 'ENOENT' || code === 'ENOTDIR'
}
