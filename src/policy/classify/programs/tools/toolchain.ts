import type { Rules } from '../../call.ts'
import { BUILDERS } from './builders.ts'
import { COMPILERS } from './compilers.ts'
import { JAVASCRIPT } from './javascript.ts'
import { MIGRATIONS } from './migrations.ts'
import { OTHER_TOOLS } from './other-tools.ts'
import { SCRIPTING_TOOLS } from './scripting.ts'
import { TEST_RUNNERS } from './test-runners.ts'

/** Compilers, test runners, linters and build tools: LOW for what builds, tests and checks the project. */
export const TOOLCHAIN: Rules = {
  ...JAVASCRIPT,
  ...TEST_RUNNERS,
  ...SCRIPTING_TOOLS,
  ...COMPILERS,
  ...BUILDERS,
  ...MIGRATIONS,
  ...OTHER_TOOLS,
}
