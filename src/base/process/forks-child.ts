import type { ForkReply, ForkRequest } from './fork-server.ts'
import { runInThisProcess } from './run-short.ts'

// The small process that starts short programs for the daemon (`openForkServer` in fork-server.ts). It exits with the daemon.

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
    const reply: ForkReply = { id, end }
    if (process.connected) process.send?.(reply)
  })
})
process.on('disconnect', () => process.exit(0))
