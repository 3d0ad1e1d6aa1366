import { opencode } from '../adapters/opencode.ts'
import { conformance } from '../conformance.ts'

conformance('opencode', opencode)
