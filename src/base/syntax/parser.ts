import { availableParallelism } from 'node:os'
import { type OwnProcess, startOwnProcess } from '../process/own-process.ts'
import type { ParsedFile } from './parsed-file.ts'

/** A file and its text, or where to read it. */
export interface FileToParse {
  /** Its name in the answer; its ending tells the language. */
  path: string
  text?: string
  file?: string
}

/** What became of a file: parsed, or the reason why not. */
export type ParseOutcome = { path: string; parsed: ParsedFile } | { path: string; skipped: string }

/** The messages to the process that parses, and its replies; outcomes are JSON, because that is the fastest way through two borders. */
export interface ParseBatch {
  id: number
  files: FileToParse[]
}
export interface ParsedBatch {
  id: number
  /** Absent when a thread begins with the batch: only then does its time count. */
  outcomes?: string
}

export interface Parser extends Disposable {
  /** Parses files and yields what became of them, some at a time, in any order. A file that crashes or blocks the parser is skipped. */
  parse(
    files: Iterable<FileToParse> | AsyncIterable<FileToParse>,
    signal?: AbortSignal,
  ): AsyncGenerator<ParseOutcome[], void>
  /** The pid of the process that parses, while there is one. */
  readonly pid: number | undefined
}

interface ParserLimits {
  /** An idle process ends after this time. */
  keepMs?: number
  /** A batch of files takes milliseconds; one that takes longer than this was written to do so. */
  deadlineMs?: number
  threads?: number
}

const KEEP_MS = 10_000
const DEADLINE_MS = 20_000
const MOST_THREADS = 4
const BATCH_CHARS = 200_000
const BATCH_FILES = 50
/** The size of a file whose text is not known yet, for the size of a batch. */
const USUAL_CHARS = 8000

/**
 * Parses in a process of its own, in threads: the parser is native code that reads what anybody wrote, and its trees are large. The process starts with
 * the first file and ends when it is idle, when it dies, or when we do. When it dies or is late, the files that it had are tried again one by one,
 * and the one that does it again is skipped.
 */
export function openParser({
  keepMs = KEEP_MS,
  deadlineMs = DEADLINE_MS,
  threads = Math.min(MOST_THREADS, availableParallelism()),
}: ParserLimits = {}): Parser {
  const waiting = new Map<number, { begin(): void; settle(outcomes?: string): void }>()
  let child: OwnProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let last = 0

  const release = () => {
    clearTimeout(idle)
    if (child?.connected) child.disconnect()
    child = undefined
    failAll()
  }
  const failAll = () => {
    for (const { settle } of [...waiting.values()]) settle()
  }
  const ensureChild = () => {
    if (child?.connected) return child
    const started = startOwnProcess('base/syntax/parser-child', {
      flags: ['--expose-gc', '--max-semi-space-size=4'],
      args: [String(threads)],
    })
    const onGone = () => {
      if (child !== started) return
      child = undefined
      failAll()
    }
    started.on('message', ({ id, outcomes }: ParsedBatch) => {
      if (outcomes === undefined) waiting.get(id)?.begin()
      else waiting.get(id)?.settle(outcomes)
    })
    started.on('error', onGone) // a process that could not be started has an error and no exit
    started.on('disconnect', onGone)
    child = started
    return started
  }
  /** The outcomes of a batch; undefined if the process died or was late. */
  const send = (files: FileToParse[]): Promise<string | undefined> => {
    clearTimeout(idle)
    const process = ensureChild()
    last += 1
    const id = last
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    let late: NodeJS.Timeout | undefined
    const begin = () => {
      late = setTimeout(() => process.kill('SIGKILL'), deadlineMs)
    }
    const settle = (outcomes?: string) => {
      clearTimeout(late)
      waiting.delete(id)
      if (waiting.size === 0) {
        process.channel?.unref()
        idle = setTimeout(release, keepMs).unref()
      }
      resolve(outcomes)
    }
    waiting.set(id, { begin, settle })
    process.channel?.ref()
    if (process.connected) process.send({ id, files } satisfies ParseBatch, () => undefined)
    return promise
  }

  async function* parse(files: Iterable<FileToParse> | AsyncIterable<FileToParse>, signal?: AbortSignal) {
    const running = new Map<
      Promise<unknown>,
      Promise<{ done: Promise<unknown>; batch: FileToParse[]; outcomes: string | undefined }>
    >()
    const suspects: FileToParse[] = []
    const settleOne = async () => {
      const { done, batch, outcomes } = await Promise.race(running.values())
      running.delete(done)
      if (outcomes !== undefined) return JSON.parse(outcomes) as ParseOutcome[]
      suspects.push(...batch)
      return []
    }
    for await (const batch of batches(files)) {
      if (signal?.aborted) return
      const done = send(batch)
      running.set(
        done,
        done.then(outcomes => ({ done, batch, outcomes })),
      )
      if (running.size >= threads) yield await settleOne()
    }
    while (running.size > 0) yield await settleOne()
    for (const file of suspects) {
      if (signal?.aborted) return
      const outcomes = await send([file])
      yield outcomes === undefined ? [{ path: file.path, skipped: CRASHED }] : (JSON.parse(outcomes) as ParseOutcome[])
    }
  }

  return {
    get pid() {
      return child?.pid
    },
    parse,
    [Symbol.dispose]: release,
  }
}

const CRASHED = 'the parser failed on it'

async function* batches(files: Iterable<FileToParse> | AsyncIterable<FileToParse>): AsyncGenerator<FileToParse[]> {
  let batch: FileToParse[] = []
  let chars = 0
  for await (const file of files) {
    batch.push(file)
    chars += file.text?.length ?? USUAL_CHARS
    if (chars < BATCH_CHARS && batch.length < BATCH_FILES) continue
    yield batch
    batch = []
    chars = 0
  }
  if (batch.length > 0) yield batch
}
