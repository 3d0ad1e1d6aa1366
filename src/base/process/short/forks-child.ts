import type { FromForks, ToForks } from './forks.ts'
import { runHere } from './run-here.ts'

// The small process that starts short programs for a large one (forks.ts). It goes with the one it works for.

const running = new Map<number, AbortController>()

process.on('message', (message: ToForks) => {
  if ('calledOff' in message) {
    running.get(message.id)?.abort()
    return
  }
  const { id, run } = message
  const control = new AbortController()
  running.set(id, control)
  void runHere(run, control.signal).then(end => {
    running.delete(id)
    const told: FromForks = { id, end }
    if (process.connected) process.send?.(told)
  })
})
process.on('disconnect', () => process.exit(0))
