import { copilot } from '../adapters/copilot.ts'
import { conformance } from '../conformance.ts'

conformance('Copilot CLI', copilot)
