import { opencode } from '../adapters/opencode.ts'
import { conformance } from '../conformance.ts'

conformance('opencode', opencode, [
  'what goes wrong',
  'pause, interrupt and park',
  'without a namespace',
  'starts of its own',
])
