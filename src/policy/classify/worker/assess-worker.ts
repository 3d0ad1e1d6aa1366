import { parentPort } from 'node:worker_threads'
import { fenceFor } from '../../paths/fence.ts'
import { realPathOf } from '../../paths/real-path.ts'
import { assessCommand } from '../command.ts'
import type { Job } from './open-worker.ts'

// Assesses one command at a time; its owner ends it when that takes too long.
parentPort?.on('message', ({ command, cwd, fence }: Job) => {
  parentPort?.postMessage(assessCommand(command, { cwd, fence: fenceFor(fence, realPathOf) }))
})
