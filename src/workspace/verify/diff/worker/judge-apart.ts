import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Finding } from '../../../../domain/workspace/evidence.ts'
import type { Change, DiffSettings } from '../change/change.ts'

export interface Job {
  change: Change
  settings: DiffSettings
}

/** A large change takes a second; what takes longer than this was written to take long. */
const DEADLINE_MS = 60_000

/**
 * Judges a change in a thread of its own: the agent wrote the texts, and neither a pattern that it found nor their size may
 * hold up the daemon. What could not be judged in time is a finding that blocks.
 */
export async function judgeApart(job: Job, { signal, deadlineMs = DEADLINE_MS }: Limits = {}): Promise<Finding[]> {
  const worker = startWorker()
  try {
    const late = AbortSignal.timeout(deadlineMs)
    const answer = once(worker, 'message', { signal: signal ? AbortSignal.any([signal, late]) : late })
    worker.postMessage(job)
    const [findings] = (await answer) as [Finding[]]
    return findings
  } catch {
    // Too slow, out of memory or called off: all the same here, for nobody looked at the change.
    return [
      { code: 'diff.unread', weight: 'block', text: 'The change could not be looked at in time: make it smaller.' },
    ]
  } finally {
    await worker.terminate()
  }
}

interface Limits {
  signal?: AbortSignal | undefined
  deadlineMs?: number
}

/** It runs from source as `.ts` and from the published package as `.js`, whichever this file is. */
function startWorker(): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return new Worker(new URL(`./judge-worker.${extension}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 1024, stackSizeMb: 4 },
    env: {},
    execArgv: [],
  })
}
