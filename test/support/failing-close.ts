import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

/** Makes closing a file fail as on a full network disk: the file is closed, but there is an error. */
export function closeFails(t: TestContext): void {
  const close = fs.closeSync
  const restore = () => {
    fs.closeSync = close
    syncBuiltinESMExports()
  }
  fs.closeSync = fd => {
    close(fd)
    restore()
    throw Object.assign(new Error('EDQUOT: disk quota exceeded, close'), { code: 'EDQUOT' })
  }
  syncBuiltinESMExports()
  t.after(restore)
}
