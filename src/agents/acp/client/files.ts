import { constants } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk'
import * as z from 'zod'
import { secretId } from '../../../base/ids.ts'
import type { Asking } from './asking.ts'
import { placeOf } from './boundary.ts'
import { misunderstood, refused } from './refusals.ts'

/** A text that an agent reads whole is never larger; one that is would only fill memory, ours and the model's. */
const MAX_BYTES = 10_000_000

const Read = z.looseObject({
  path: z.string(),
  line: z.number().int().min(1).nullish(),
  limit: z.number().int().min(0).nullish(),
})
const Write = z.looseObject({ path: z.string(), content: z.string() })

/** The files of the project as an agent may ask for them: inside the boundary only, each one a request of its own. */
export class Files {
  readonly #root: string
  readonly #asking: Asking

  constructor(root: string, asking: Asking) {
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
    if (Buffer.byteLength(content) > MAX_BYTES) throw refused(`${path} would have more than ${MAX_BYTES} bytes.`)
    const real = await this.#inside(path)
    await this.#asking.may({ tool: 'Write', input: { file_path: real, content } }, signal)
    await this.#unmoved(path, real)
    await writeWhole(real, content)
    return {}
  }

  /** Somebody may have put a link into the way while it was decided. */
  async #unmoved(path: string, real: string): Promise<void> {
    if ((await this.#inside(path)) !== real) throw refused(`${path} changed while it was decided.`)
  }

  async #inside(path: string): Promise<string> {
    const place = await placeOf(path, this.#root)
    if ('outside' in place) throw refused(`Not allowed: ${place.outside}.`)
    return place.inside
  }
}

async function readText(real: string, path: string): Promise<string> {
  try {
    await using file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size, isFile } = await file.stat().then(stats => ({ size: stats.size, isFile: stats.isFile() }))
    if (!isFile) throw refused(`${path} is not a file.`)
    if (size > MAX_BYTES) throw refused(`${path} has ${size} bytes, more than the ${MAX_BYTES} that are read whole.`)
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
  if (!result.success) throw misunderstood(result.error.issues[0]?.message ?? 'malformed')
  return result.data
}
