import type { Rules } from '../call.ts'
import { INTERPRETERS } from './code/interpreters.ts'
import { RUNNERS } from './code/runners.ts'
import { SHELLS } from './code/shells.ts'
import { WRAPPERS } from './code/wrappers.ts'
import { FILES } from './files/files.ts'
import { GIT } from './git/git.ts'
import { PACKAGES } from './packages/packages.ts'
import { READERS } from './readers/readers.ts'
import { CONTAINERS } from './remote/containers.ts'
import { DATABASES } from './remote/databases.ts'
import { INFRA } from './remote/infra.ts'
import { NETWORK } from './remote/network.ts'
import { DANGERS } from './system/dangers.ts'
import { SYSTEM } from './system/system.ts'
import { TOOLCHAIN } from './tools/toolchain.ts'

/** Every program with a rule. What stands later wins, so the dangerous ones come last. */
export const PROGRAMS: Rules = {
  ...READERS,
  ...TOOLCHAIN,
  ...PACKAGES,
  ...SYSTEM,
  ...INTERPRETERS,
  ...FILES,
  ...DATABASES,
  ...INFRA,
  ...CONTAINERS,
  ...NETWORK,
  ...GIT,
  ...SHELLS,
  ...WRAPPERS,
  ...RUNNERS,
  ...DANGERS,
}
