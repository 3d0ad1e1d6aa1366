import { claude } from './claude-adapter.ts'
import { conformance } from './conformance.ts'

conformance('Claude Code', claude)
