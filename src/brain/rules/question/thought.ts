/** What one rule thinks of one question; a rule that has nothing to say returns undefined instead. */
export interface Thought {
  answer: string | string[]
  confidence: number
  reasoning: string
}
