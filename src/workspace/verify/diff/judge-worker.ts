import { parentPort } from 'node:worker_threads'
import type { JudgeJob } from './judge-apart.ts'
import { judgeChange } from './judge-change.ts'

// Judges changes; its owner terminates it when one takes too long.
parentPort?.on('message', ({ change, settings }: JudgeJob) => {
  parentPort?.postMessage(judgeChange(change, settings))
})
