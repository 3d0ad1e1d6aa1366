import { gemini } from '../adapters/gemini.ts'
import { conformance } from '../conformance.ts'

conformance('Gemini CLI', gemini)
