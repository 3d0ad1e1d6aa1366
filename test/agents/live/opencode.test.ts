import { opencode } from '../adapters/opencode.ts'
import { conformance } from '../conformance.ts'

conformance('opencode', opencode, [
  'turns and questions',
  'nobody answers in time',
  'tools of ours',
  'the limit of a subscription',
  'what it is given',
])
