import { brainConformance } from './model-conformance.ts'

brainConformance('claude')

brainConformance('gemini')

brainConformance('ollama')

brainConformance('openai-compatible')
