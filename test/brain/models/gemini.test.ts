import { brainConformance } from './conformance.ts'

brainConformance('gemini')
