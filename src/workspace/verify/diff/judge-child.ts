import type { JudgeJob } from './judge-apart.ts'
import { judgeChange } from './judge-change.ts'

// Judges changes; its owner kills it when one takes too long, and it exits with its owner.
process.on('message', ({ change, settings }: JudgeJob) => {
  const findings = judgeChange(change, settings)
  if (process.connected) process.send?.(findings)
})
process.on('disconnect', () => process.exit(0))
