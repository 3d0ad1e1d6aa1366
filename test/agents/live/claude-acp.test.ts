import { claudeAcp } from '../adapters/claude-acp.ts'
import { conformance } from '../conformance.ts'

conformance('Claude Code over ACP', claudeAcp)
