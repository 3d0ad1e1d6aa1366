import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { parseShell } from './parse.ts'
import { mayBeSlow } from './precheck.ts'
import type { Reading } from './tree.ts'

/** From asking to answering, the start of the worker not included: hostile input ends here. */
const DEADLINE_MS = 60
/** A worker that does not even start is a broken installation; nobody may wait for it for ever. */
const START_MS = 5_000

/** Reads commands: small ones at once, others in a worker that is ended when it is not done in time. */
export interface Reader extends Disposable {
  read(command: string): Reading | Promise<Reading>
}

/** A reader whose worker starts with the first command that needs it and then stays, without keeping the process alive. */
export function openReader({ deadlineMs = DEADLINE_MS } = {}): Reader {
  let worker: Worker | undefined
  let queue: Promise<unknown> = Promise.resolve()

  const inWorker = async (command: string): Promise<Reading> => {
    try {
      worker ??= await startWorker()
      const answer = once(worker, 'message', { signal: AbortSignal.timeout(deadlineMs) })
      worker.postMessage(command)
      const [reading] = (await answer) as [Reading]
      return reading
    } catch {
      // Too slow, out of memory or gone: all the same to the caller, who refuses what could not be read.
      const ended = worker
      worker = undefined
      void ended?.terminate()
      return unread(command, 'it could not be read in time')
    }
  }

  return {
    read(command) {
      if (!mayBeSlow(command)) return parseShell(command)
      const reading = queue.then(() => inWorker(command))
      queue = reading
      return reading
    },
    [Symbol.dispose]() {
      void worker?.terminate()
      worker = undefined
    },
  }
}

/** The worker runs from source as `.ts` and from the published package as `.js`, whichever this file is. */
async function startWorker(): Promise<Worker> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const worker = new Worker(new URL(`./parse-worker.${extension}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
    env: {},
    execArgv: [],
  })
  await once(worker, 'online', { signal: AbortSignal.timeout(START_MS) })
  // Warm: the first real command must not pay for loading and compiling the parser.
  const ready = once(worker, 'message', { signal: AbortSignal.timeout(START_MS) })
  worker.postMessage('true')
  await ready
  worker.unref()
  return worker
}

/** What is put in place of a reading that could not be made: an error, which is HIGH. */
export function unread(command: string, message: string): Reading {
  const at = [0, command.length] as const
  return { script: { at, body: [] }, errors: [{ message, at }] }
}
