import { codex } from '../adapters/codex.ts'
import { conformance } from '../conformance.ts'

conformance('Codex', codex)
