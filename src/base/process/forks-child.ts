import { type ForkReply, type ForkRequest, runInThisProcess } from './run-short.ts'

// The small process that starts short programs for a large one (forks.ts). It goes with the one it works for.

const running = new Map<number, AbortController>()

process.on('message', (message: ForkRequest) => {
  if ('calledOff' in message) {
    running.get(message.id)?.abort()
    return
  }
  const { id, run } = message
  const control = new AbortController()
  running.set(id, control)
  void runInThisProcess(run, control.signal).then(end => {
    running.delete(id)
    const told: ForkReply = { id, end }
    if (process.connected) process.send?.(told)
  })
})
process.on('disconnect', () => process.exit(0))
