import { parentPort } from 'node:worker_threads'
import { judgeChange } from '../judge-change.ts'
import type { Job } from './judge-apart.ts'

// Judges one change; its owner ends it when that takes too long.
parentPort?.on('message', ({ change, settings }: Job) => {
  parentPort?.postMessage(judgeChange(change, settings))
})
