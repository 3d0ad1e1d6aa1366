import { constants } from 'node:fs'
import { lstat, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk'
import * as z from 'zod'
import { secretId } from '../../base/ids.ts'
import { isInside } from '../../base/is-inside.ts'
import { openRealFolder, type RealFolder } from '../../base/real-folder.ts'
import { type CallApprover, parseParams, refusedError } from './gate.ts'

/** A text that an agent reads whole is never larger; a larger one would only fill our memory and the model's context. */
const MAX_BYTES = 10_000_000

const Read = z.looseObject({
  path: z.string(),
  line: z.number().int().min(1).nullish(),
  limit: z.number().int().min(0).nullish(),
})
const Write = z.looseObject({ path: z.string(), content: z.string() })

/** File access for an agent: only inside the project, and each access is asked about. */
export class AcpFiles {
  readonly #root: string
  readonly #approver: CallApprover

  constructor(root: string, asking: CallApprover) {
    this.#root = root
    this.#approver = asking
  }

  async read(params: unknown, signal: AbortSignal): Promise<{ content: string }> {
    const { path, line, limit } = parseParams(Read, params)
    const real = await this.#resolveInside(path)
    await this.#approver.approve({ tool: 'Read', input: { file_path: real } }, signal)
    await using folder = await this.#openFolder(path, real)
    const text = await readText(folder.at(basename(real)), path)
    if (line === undefined && limit === undefined) return { content: text }
    const lines = text.split('\n')
    const start = (line ?? 1) - 1
    return { content: lines.slice(start, limit === undefined || limit === null ? undefined : start + limit).join('\n') }
  }

  async write(params: unknown, signal: AbortSignal): Promise<Record<string, never>> {
    const { path, content } = parseParams(Write, params)
    if (Buffer.byteLength(content) > MAX_BYTES) throw refusedError(`${path} would have more than ${MAX_BYTES} bytes.`)
    const real = await this.#resolveInside(path)
    await this.#approver.approve({ tool: 'Write', input: { file_path: real, content } }, signal)
    await using folder = await this.#openFolder(path, real, { make: true })
    await writeWhole(folder, basename(real), content)
    return {}
  }

  /** Holds the folder of the file that was judged. An agent may put a link in the place of a folder above it, also right now. */
  async #openFolder(path: string, real: string, options: { make?: boolean } = {}): Promise<RealFolder> {
    const root = await realpath(this.#root)
    const folder = await openRealFolder(root, relative(root, dirname(real)), options)
    if (folder) return folder
    if (options.make || (await stat(real).catch(() => undefined)))
      throw refusedError(`${path} changed while it was decided.`)
    throw RequestError.resourceNotFound(path)
  }

  async #resolveInside(path: string): Promise<string> {
    const resolved = await resolveInProject(path, this.#root)
    if ('outside' in resolved) throw refusedError(`Not allowed: ${resolved.outside}.`)
    return resolved.inside
  }
}

async function readText(at: string, path: string): Promise<string> {
  try {
    await using file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
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

/** Writes the whole file or nothing: the agent or we may die in the middle. */
async function writeWhole(folder: RealFolder, name: string, content: string): Promise<void> {
  const mode = await lstat(folder.at(name)).then(
    ({ mode }) => mode & 0o777,
    () => 0o644,
  )
  const temporary = folder.at(`.pcc-${secretId(6)}.tmp`)
  try {
    {
      await using file = await open(temporary, 'wx', mode)
      await file.writeFile(content)
      await file.sync()
    }
    await rename(temporary, folder.at(name))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

export type ProjectPath = { inside: string } | { outside: string }

/** More links in a row are a loop, or an attack. */
const MAX_LINKS = 40

/**
 * Resolves a path with all its links and checks that it is inside the project. A path that does not exist yet is resolved by
 * its deepest existing folder. The answer is a path without links, and the code that opens it must not follow links again.
 */
export async function resolveInProject(path: string, root: string): Promise<ProjectPath> {
  if (!isAbsolute(path) || path.includes('\0')) return { outside: `${path} is not an absolute path` }
  const home = await realpath(root)
  const real = await resolveLinks(resolve(path), MAX_LINKS)
  if (real === undefined) return { outside: `${path} leads through too many links` }
  return isInside(real, home) ? { inside: real } : { outside: `${path} is outside of the project ${home}` }
}

async function resolveLinks(path: string, links: number): Promise<string | undefined> {
  if (links === 0) return undefined
  try {
    return await realpath(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ELOOP') return undefined
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
  }
  // The path does not exist, or is a link to something that does not exist: then the target of the link matters.
  const target = await readLinkTarget(path)
  if (target !== undefined) return resolveLinks(resolve(dirname(path), target), links - 1)
  const parent = dirname(path)
  if (parent === path) return path
  const folder = await resolveLinks(parent, links - 1)
  return folder === undefined ? undefined : join(folder, basename(path))
}

async function readLinkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch {
    return undefined // it does not exist at all
  }
}
