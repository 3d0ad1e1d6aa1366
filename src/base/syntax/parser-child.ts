import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { entryUrl } from '../program.ts'
import { loadGrammars } from './grammar.ts'
import { parseSource } from './parse-source.ts'
import type { FileToParse, ParseBatch, ParsedBatch, ParseOutcome } from './parser.ts'

// The process that parses for the daemon (`openParser` in parser.ts), and its threads. It exits with the daemon, and when a thread fails.

/** Trees are outside the heap of JavaScript, which therefore does not notice how much they use: forty times their text. */
const COLLECT_AFTER_CHARS = 400_000
const collectGarbage = (globalThis as { gc?: (options?: { type: 'minor' }) => void }).gc

if (isMainThread) serveParent()
else serveThread()

function serveParent(): void {
  loadGrammars()
  const free: Worker[] = []
  const waiting: ParseBatch[] = []
  const start = () => {
    const thread = new Worker(entryUrl('base/syntax/parser-child'), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    thread.on('error', () => process.exit(1))
    thread.on('message', (reply: ParsedBatch) => {
      if (process.connected) process.send?.(reply)
      if (reply.outcomes === undefined) return
      const next = waiting.shift()
      if (next) thread.postMessage(next)
      else free.push(thread)
    })
    return thread
  }
  const threads = Number(process.argv[2] ?? 1)
  let started = 0
  process.on('message', (batch: ParseBatch) => {
    const thread = free.pop()
    if (thread) thread.postMessage(batch)
    else if (started < threads) {
      started += 1
      start().postMessage(batch)
    } else waiting.push(batch)
  })
  process.on('disconnect', () => process.exit(0))
}

function serveThread(): void {
  let chars = 0
  let collections = 0
  parentPort?.on('message', async ({ id, files }: ParseBatch) => {
    parentPort?.postMessage({ id } satisfies ParsedBatch)
    const outcomes: ParseOutcome[] = []
    for (const file of files) {
      const text = readText(file)
      if (text === undefined) {
        outcomes.push({ path: file.path, skipped: 'it could not be read' })
        continue
      }
      outcomes.push({ path: file.path, parsed: parseSource(file.path, text) })
      chars += text.length
      if (chars < COLLECT_AFTER_CHARS) continue
      chars = 0
      collections += 1
      // Most trees are garbage at once; some are found only by the collection of everything.
      collectGarbage?.(collections % 8 === 0 ? undefined : { type: 'minor' })
      await setImmediate() // trees are freed between two tasks of the event loop
    }
    const reply: ParsedBatch = { id, outcomes: JSON.stringify(outcomes) }
    parentPort?.postMessage(reply)
  })
}

function readText({ text, file }: FileToParse): string | undefined {
  if (text !== undefined || file === undefined) return text
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
