import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { runDaemon } from '../../../src/daemon/main.ts'
import { Supervisor } from '../../../src/supervisor/supervisor.ts'

// A daemon whose descriptor 1 was taken by another thread that opened a file in the moment when standard output was closed. When
// that file is closed, the number is free and the next client gets it. The daemon fails when it is to stop.

const close = fs.closeSync
fs.closeSync = fd => {
  close(fd)
  if (fd !== 1) return
  const quicker = fs.openSync('/dev/null', 'r')
  queueMicrotask(() => close(quicker))
}
syncBuiltinESMExports()

Supervisor.prototype.close = async () => {
  process.stderr.write(`descriptor 1 is ${fs.fstatSync(1).isSocket() ? 'a connection' : 'none'}\n`)
  throw new Error('it cannot leave')
}

process.exit(await runDaemon({ paths: appPathsFor({ env: process.env }), env: process.env }))
