import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { runDaemon } from '../../../src/daemon/main.ts'
import { Supervisor } from '../../../src/supervisor/supervisor.ts'

// A daemon whose standard output became somebody else's as it was closed: another thread was opening a file in that moment. The
// number is free when that file is closed, and the next client gets it. When the daemon is to leave, it fails.

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
