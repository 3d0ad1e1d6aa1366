import { parentPort } from 'node:worker_threads'
import type { JudgeJob } from './judge-apart.ts'
import { judgeChange } from './judge-change.ts'

// Judges one change; its owner ends it when that takes too long.
parentPort?.on('message', ({ change, settings }: JudgeJob) => {
  parentPort?.postMessage(judgeChange(change, settings))
})
