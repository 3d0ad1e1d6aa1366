import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The `pcc` and the daemon of this checkout, unbundled, for tests that count the files of a start. */
export const SOURCE_BIN = join(ROOT, 'bin/pcc.js')
export const SOURCE_DAEMON_SCRIPT = join(ROOT, 'test/daemon/run-daemon.ts')

/** The same program, in the faster bundled form if `npm test` has built it (`scripts/testing/program.ts`). */
export const BIN = builtOr('bin/pcc.js')

/** A daemon as its own process, without the command line. */
export const DAEMON_SCRIPT = builtOr('test/daemon/run-daemon.ts')

/** The folder that contains both. */
export const PROGRAM_ROOT = builtOr('.')

function builtOr(path: string): string {
  return join(process.env['PCC_TEST_PROGRAM'] ?? ROOT, path)
}
