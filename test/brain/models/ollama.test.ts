import { brainConformance } from './conformance.ts'

brainConformance('ollama')
