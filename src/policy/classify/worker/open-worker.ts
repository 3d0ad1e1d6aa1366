import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Assessment } from '../../../domain/assessment.ts'
import type { FenceData } from '../../paths/fence.ts'
import { refused } from '../command.ts'

/** From asking to answering, the start of the worker not included: hostile input ends here. */
const DEADLINE_MS = 80
/** A worker that does not even start is a broken installation; nobody may wait for it for ever. */
const START_MS = 10_000

export interface Job {
  command: string
  cwd: string
  fence: FenceData
}

/** Assesses commands that may take long, apart from the event loop and with a deadline that ends in HIGH. */
export interface SlowLane extends Disposable {
  assess(job: Job): Promise<Assessment>
}

/** The worker starts with the first command that needs it and then stays, without keeping the process alive. */
export function openSlowLane({ deadlineMs = DEADLINE_MS } = {}): SlowLane {
  let worker: Promise<Worker> | undefined
  let queue: Promise<unknown> = Promise.resolve()

  const assess = async (job: Job): Promise<Assessment> => {
    try {
      worker ??= startWorker()
      return await answerOf(await worker, job, deadlineMs)
    } catch {
      // Too slow, out of memory or gone: all the same here, for what could not be assessed is refused.
      const ended = worker
      worker = undefined
      ended?.then(one => one.terminate()).catch(() => undefined)
      return refused(job.command, 'it could not be read in time')
    }
  }

  return {
    assess(job) {
      const assessment = queue.then(() => assess(job))
      queue = assessment
      return assessment
    },
    [Symbol.dispose]() {
      worker?.then(one => one.terminate()).catch(() => undefined)
      worker = undefined
    },
  }
}

/** The worker runs from source as `.ts` and from the published package as `.js`, whichever this file is. */
async function startWorker(): Promise<Worker> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const worker = new Worker(new URL(`./assess-worker.${extension}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
    env: {},
    execArgv: [],
  })
  // Warm: the first real command must not pay for loading and compiling.
  await answerOf(worker, { command: 'true', cwd: '/', fence: { boundary: '/', home: '/', safe: [] } }, START_MS)
  worker.unref()
  return worker
}

async function answerOf(worker: Worker, job: Job, withinMs: number): Promise<Assessment> {
  const answer = once(worker, 'message', { signal: AbortSignal.timeout(withinMs) })
  worker.postMessage(job)
  const [assessment] = (await answer) as [Assessment]
  return assessment
}
