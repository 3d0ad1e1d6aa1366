import type { Rules } from '../call.ts'
import { CONTAINERS } from './containers.ts'
import { DANGERS } from './dangers.ts'
import { DATABASES } from './databases.ts'
import { FILES } from './files.ts'
import { GIT } from './git.ts'
import { INFRA } from './infra.ts'
import { INTERPRETERS } from './interpreters.ts'
import { NETWORK } from './network.ts'
import { PACKAGES } from './packages.ts'
import { READERS } from './readers.ts'
import { SHELLS } from './shells.ts'
import { SYSTEM } from './system.ts'
import { TOOLCHAIN } from './toolchain.ts'
import { WRAPPERS } from './wrappers.ts'

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
  ...DANGERS,
}
