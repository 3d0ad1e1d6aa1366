import { constants } from 'node:fs'
import { lstat, mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk'
import * as z from 'zod'
import { secretId } from '../../base/ids.ts'
import { type CallApprover, invalidParamsError, refusedError } from './gate.ts'

/** A text that an agent reads whole is never larger; one that is would only fill memory, ours and the model's. */
const MAX_BYTES = 10_000_000

const Read = z.looseObject({
  path: z.string(),
  line: z.number().int().min(1).nullish(),
  limit: z.number().int().min(0).nullish(),
})
const Write = z.looseObject({ path: z.string(), content: z.string() })

/** The files of the project as an agent may ask for them: inside the boundary only, each one a request of its own. */
export class AcpFiles {
  readonly #root: string
  readonly #asking: CallApprover

  constructor(root: string, asking: CallApprover) {
    this.#root = root
    this.#asking = asking
  }

  async read(params: unknown, signal: AbortSignal): Promise<{ content: string }> {
    const { path, line, limit } = parsed(Read, params)
    const real = await this.#inside(path)
    await this.#asking.may({ tool: 'Read', input: { file_path: real } }, signal)
    await this.#unmoved(path, real)
    const text = await readText(real, path)
    if (line === undefined && limit === undefined) return { content: text }
    const lines = text.split('\n')
    const start = (line ?? 1) - 1
    return { content: lines.slice(start, limit === undefined || limit === null ? undefined : start + limit).join('\n') }
  }

  async write(params: unknown, signal: AbortSignal): Promise<Record<string, never>> {
    const { path, content } = parsed(Write, params)
    if (Buffer.byteLength(content) > MAX_BYTES) throw refusedError(`${path} would have more than ${MAX_BYTES} bytes.`)
    const real = await this.#inside(path)
    await this.#asking.may({ tool: 'Write', input: { file_path: real, content } }, signal)
    await this.#unmoved(path, real)
    await writeWhole(real, content)
    return {}
  }

  /** Somebody may have put a link into the way while it was decided. */
  async #unmoved(path: string, real: string): Promise<void> {
    if ((await this.#inside(path)) !== real) throw refusedError(`${path} changed while it was decided.`)
  }

  async #inside(path: string): Promise<string> {
    const place = await resolveInProject(path, this.#root)
    if ('outside' in place) throw refusedError(`Not allowed: ${place.outside}.`)
    return place.inside
  }
}

async function readText(real: string, path: string): Promise<string> {
  try {
    await using file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size, isFile } = await file.stat().then(stats => ({ size: stats.size, isFile: stats.isFile() }))
    if (!isFile) throw refusedError(`${path} is not a file.`)
    if (size > MAX_BYTES)
      throw refusedError(`${path} has ${size} bytes, more than the ${MAX_BYTES} that are read whole.`)
    return await file.readFile('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw RequestError.resourceNotFound(path)
    throw error
  }
}

/** All of it or nothing: an agent, or we, may die in the middle. */
async function writeWhole(real: string, content: string): Promise<void> {
  await mkdir(dirname(real), { recursive: true })
  const mode = await stat(real).then(
    ({ mode }) => mode & 0o777,
    () => 0o644,
  )
  const beside = join(dirname(real), `.pcc-${secretId(6)}.tmp`)
  try {
    {
      await using file = await open(beside, 'wx', mode)
      await file.writeFile(content)
      await file.sync()
    }
    await rename(beside, real)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}

function parsed<Shape extends z.ZodType>(shape: Shape, params: unknown): z.infer<Shape> {
  const result = shape.safeParse(params)
  if (!result.success) throw invalidParamsError(result.error.issues[0]?.message ?? 'malformed')
  return result.data
}

export type ProjectPath = { inside: string } | { outside: string }

/** More links in a row are a loop, or somebody's game. */
const MAX_LINKS = 40

/**
 * Where a path really is, links followed, and whether that is inside the project. What is not there yet is where its
 * deepest existing folder is. The answer is a path without links, which whoever opens it must not follow any further.
 */
export async function resolveInProject(path: string, root: string): Promise<ProjectPath> {
  if (!isAbsolute(path) || path.includes('\0')) return { outside: `${path} is not an absolute path` }
  const home = await realpath(root)
  const real = await realOf(resolve(path), MAX_LINKS)
  if (real === undefined) return { outside: `${path} leads through too many links` }
  const inner = relative(home, real)
  const isInside = inner === '' || (inner !== '..' && !inner.startsWith(`..${sep}`) && !isAbsolute(inner))
  return isInside ? { inside: real } : { outside: `${path} is outside of the project ${home}` }
}

async function realOf(path: string, links: number): Promise<string | undefined> {
  if (links === 0) return undefined
  try {
    return await realpath(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ELOOP') return undefined
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
  }
  // It is not there, or it is a link to something that is not there: what counts is where the link leads.
  const target = await linkOf(path)
  if (target !== undefined) return realOf(resolve(dirname(path), target), links - 1)
  const parent = dirname(path)
  if (parent === path) return path
  const folder = await realOf(parent, links - 1)
  return folder === undefined ? undefined : join(folder, basename(path))
}

async function linkOf(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch {
    return undefined // it is not there at all
  }
}
