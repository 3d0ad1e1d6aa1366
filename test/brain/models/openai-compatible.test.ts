import { brainConformance } from './conformance.ts'

brainConformance('openai-compatible')
