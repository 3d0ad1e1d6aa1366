import type { DiffRule } from '../rules/rule.ts'
import { checkerRule } from './config/checkers.ts'
import { launcherRule } from './config/launchers.ts'
import { scriptRule } from './config/scripts.ts'
import { thresholdRule } from './config/thresholds.ts'
import { lintRule } from './lint-silencers.ts'
import { mockRule } from './mocked.ts'
import { otherTestRule } from './other-tests.ts'
import { riggedRule } from './rigged.ts'
import { shimRule } from './shims.ts'
import { snapshotRule } from './snapshots.ts'
import { testRule } from './tests/tests.ts'

/** Rules about changes that make a check pass without making the work right. */
export const TAMPERING_RULES: readonly DiffRule[] = [
  testRule,
  otherTestRule,
  snapshotRule,
  mockRule,
  riggedRule,
  shimRule,
  scriptRule,
  launcherRule,
  checkerRule,
  thresholdRule,
  lintRule,
]
